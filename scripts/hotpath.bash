# Completion for hotpath, in bash. Options come from the command itself.
_hotpath()
{
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} sub=
    local trace_commands="record info check dump replay"
    local views="summary functions blocks edges calls lines threads modules all"

    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "run record report compare merge trace lab --help --version" -- "$word")
        return
    fi
    if [ "$command" = trace ]; then
        if [ "$COMP_CWORD" = 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$trace_commands" -- "$word")
            return
        fi
        sub=${COMP_WORDS[2]}
    fi
    case $previous in
    --view | -v) mapfile -t COMPREPLY < <(compgen -W "$views" -- "$word"); return ;;
    --engine | -e) mapfile -t COMPREPLY < <(compgen -W "native qemu" -- "$word"); return ;;
    --profile | -p) mapfile -t COMPREPLY < <(compgen -W "exact counts none" -- "$word"); return ;;
    --record) mapfile -t COMPREPLY < <(compgen -W "none count stream memory" -- "$word"); return ;;
    --threads) mapfile -t COMPREPLY < <(compgen -W "each all" -- "$word"); return ;;
    --sysroot) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
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
