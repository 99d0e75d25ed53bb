# Completion for hotpath, in bash. Options come from the command itself.

# The names in a part of `hotpath lab list`.
_hotpath_lab()
{
    hotpath lab list 2>/dev/null | awk -v part="$1" '/^[A-Z]/ { on = $1 == part } /^  / && on { print $1 }'
}

# The formats in `hotpath export --help`.
_hotpath_formats()
{
    hotpath export --help 2>/dev/null | awk '/^[A-Z]/ { on = /^Formats:/ } /^  / && on { print $1 }'
}

_hotpath()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} sub=
    local trace_commands="record info check dump replay" wpp_commands="info expand hot"
    local views="summary functions blocks edges calls contexts lines loops loop-models hotspots partition paths predictions machine instructions cpi sampling threads modules all"

    [ "$command" = top ] && views="all functions paths loops hotspots"
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "run record top report annotate html export compare diff ci merge trace wpp lab --help --version" -- "$word")
        return
    fi
    if [ "$command" = trace ]; then
        if [ "$COMP_CWORD" = 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$trace_commands" -- "$word")
            return
        fi
        sub=${COMP_WORDS[2]}
    elif [ "$command" = wpp ]; then
        if [ "$COMP_CWORD" = 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$wpp_commands" -- "$word")
            return
        fi
        sub=${COMP_WORDS[2]}
    fi
    if [ "$command" = lab ] && [[ $word != -* ]]; then
        case $previous in
        --programs) mapfile -t COMPREPLY < <(compgen -W "$(_hotpath_lab Programs)" -- "$word"); return ;;
        --json | -j | --inputs) ;;
        *) mapfile -t COMPREPLY < <(compgen -W "list $(_hotpath_lab Experiments)" -- "$word"); return ;;
        esac
    fi
    case $previous in
    --view | -v) mapfile -t COMPREPLY < <(compgen -W "$views" -- "$word"); return ;;
    --engine | -e) mapfile -t COMPREPLY < <(compgen -W "native qemu" -- "$word"); return ;;
    --profile | -p)
        mapfile -t COMPREPLY < <(compgen -W "exact counts loops paths predictions hotspots cycles instructions none" -- "$word"); return ;;
    --paths)
        mapfile -t COMPREPLY < <(compgen -W "bl wpp extended-loop: extended-call: forward" -- "$word"); return ;;
    --metric)
        mapfile -t COMPREPLY < <(compgen -W "executions instructions l1i l1d l2 l3 itlb dtlb mispredictions power power-cycle" -- "$word"); return ;;
    --machine)
        mapfile -t COMPREPLY < <(compgen -W "vaswani alpha21264 arm9 modern" -f -- "$word"); return ;;
    --sample)
        mapfile -t COMPREPLY < <(compgen -W "profileme profileme,pairs" -- "$word"); return ;;
    --windows)
        mapfile -t COMPREPLY < <(compgen -W "all period=" -- "$word"); return ;;
    --table)
        mapfile -t COMPREPLY < <(compgen -W "vaswani random-admission 512x4" -- "$word"); return ;;
    --predict)
        mapfile -t COMPREPLY < <(compgen -W "net: path-profile: boa: net-rate: rate-table:" -- "$word"); return ;;
    --loop-model)
        mapfile -t COMPREPLY < <(compgen -W "daprof daprof-16way daprof-full frequent ranges" -- "$word"); return ;;
    --hotspots)
        mapfile -t COMPREPLY < <(compgen -W "merten dense" -- "$word"); return ;;
    --by) mapfile -t COMPREPLY < <(compgen -W "function loop line instruction" -- "$word"); return ;;
    --format | -f) mapfile -t COMPREPLY < <(compgen -W "$(_hotpath_formats)" -- "$word"); return ;;
    --record) mapfile -t COMPREPLY < <(compgen -W "none count stream memory" -- "$word"); return ;;
    --threads) mapfile -t COMPREPLY < <(compgen -W "each all" -- "$word"); return ;;
    --sysroot | --source-path | --old-source | --new-source) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    --) mapfile -t COMPREPLY < <(compgen -c -- "$word"); return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(hotpath "$command" ${sub:+"$sub"} --list-options 2>/dev/null)" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        [ "$command" = report ] && COMPREPLY+=($(compgen -W "$views" -- "$word"))
    fi
}
complete -o filenames -F _hotpath hotpath
