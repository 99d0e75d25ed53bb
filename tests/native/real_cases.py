# SPDX-License-Identifier: MIT
"""What the real programs of real.py are made to do. A case gets a real.Bench and calls run() for what
is compared; alone() for what prepares or looks at it."""
import collections
import os
import re
import signal
import socket
import subprocess
import time

Case = collections.namedtuple("Case", "name tools function")
CASES = []


def case(name, *tools):
    def register(function):
        CASES.append(Case(name, tools, function))
        return function
    return register


def text(lines):
    """Pseudo-random text, the same everywhere."""
    words = "hot path edge block loop branch call return the of a engine stream".split()
    state, out = 1, []
    for i in range(lines):
        line = ["%d" % i]
        for _ in range(8):
            state = (state * 1103515245 + 12345) & 0x7fffffff
            line.append(words[(state >> 16) % len(words)] + str((state >> 8) % 97))
        out.append(" ".join(line))
    return "\n".join(out) + "\n"


def c_source(functions):
    """A large C file."""
    parts = ["#include <stdio.h>\n#include <string.h>\nstruct s { int a; double b; char c[8]; };\n"]
    for i in range(functions):
        parts.append("""
static int f%(i)d(struct s *p, int n)
{
    int sum = %(i)d;
    for (int i = 0; i < n; i++) {
        switch (i %% %(k)d) {
        case 0: sum += p->a * i; break;
        case 1: p->b += sum / 3.0; break;
        case 2: p->c[i & 7] = (char)(sum ^ i); break;
        default: sum ^= (int)strlen("case %(i)d") << (i & 3);
        }
        if (sum > 1000000 && i > %(i)d)
            return %(call)s;
    }
    return sum;
}
""" % {"i": i, "k": i % 7 + 2, "call": "f%d(p, n / 2)" % (i - 1) if i else "0"})
    parts.append("int main(void)\n{\n    struct s s = {1, 2, \"x\"};\n    int n = 0;\n")
    parts += ["    n += f%d(&s, %d);\n" % (i, i % 50) for i in range(functions)]
    parts.append("    printf(\"%d\\n\", n);\n    return 0;\n}\n")
    return "".join(parts)


# Small tools.

@case("coreutils", "sort")
def coreutils(b):
    data = b.write("data", text(b.size(300, 20000)))
    b.write("other", text(100))
    os.utime(b.path("data"), (1e9, 1e9))
    for command in (
            "sort -k3 data", "sort -rn --parallel=2 -S 1M data", "wc data other", "md5sum data", "sha256sum data",
            "sha512sum data", "b2sum data", "cksum data", "od -Ax -tx1z data", "cut -d: -f1 data",
            "head -n 20 data", "tail -n 20 data", "tac data", "nl data", "fold -w 30 data",
            "expand data", "base64 data", "base32 data", "uniq -c data", "comm data other", "join data other",
            "paste data other", "seq 1 500", "factor 123456789012 97 1000000007",
            "date -d @1000000000 +%c", "expr 12 * 34", "ls -l --time-style=full-iso data", "stat -c %s:%n data",
            "split -n 3 data part.", "cat part.aa part.ab part.ac", "cp -r . ../copy", "rm -rf ../copy",
            "basename /a/b.c .c", "dirname /a/b", "env -i A=1 env", "printf %s:%d\\n x 5", "numfmt --to=iec 123456",
            "shuf --random-source=data data", "tsort other", "ptx other", "dd if=data bs=100 count=5 status=none",
            "test -f data", "false", "true", "pwd", "realpath data", "truncate -s 10 other", "mktemp -u fixed",
            "ls no-such-file", "cat no-such-file", "timeout 0.1 sleep 500", "nice echo x", "id -u", "tr a b"):
        b.run(*command.split(), input=b"abc\n")


@case("bash", "bash")
def bash(b):
    b.write("script", r"""
declare -A count; shopt -s extglob
for i in {1..%d}; do count[$((i %% 17))]+=x; done
for k in $(echo "${!count[@]}" | tr ' ' '\n' | sort -n); do echo "$k ${#count[$k]}"; done
f() { local n=$1; ((n < 2)) && { echo $n; return; }; echo $(( $(f $((n-1))) + $(f $((n-2))) )); }
f 7; trap 'echo got USR1' USR1; kill -USR1 $$; trap 'echo leaving' EXIT
printf '%%s\n' a b c | while read -r x; do echo "<$x>"; done
cat <(echo one) <(echo two); coproc cat; echo hello >&${COPROC[1]}; read -r l <&${COPROC[0]}; echo $l
exec {COPROC[1]}>&-; wait; (exit 3); echo $?; [[ abc =~ ^a(.)c$ ]] && echo ${BASH_REMATCH[1]}
sleep 0.05 & wait $!; echo $?; { (kill -9 $BASHPID); } 2>/dev/null; echo $?; set -o pipefail; false | true; echo $?
exit 7
""" % b.size(500, 50000))
    b.run("bash", "script")


@case("dash", "dash")
def dash(b):
    b.run("dash", "-c", "i=0; while [ $i -lt %d ]; do i=$((i+1)); done; echo $i; (exit 3); echo $?; "
          "for x in a b; do echo $x | tr a-z A-Z; done; trap 'echo t' TERM; kill -TERM $$; "
          "set -- 1 2; echo $# $(echo sub `echo nested`); sleep 0.01 & wait; exit 9"
          % b.size(2000, 500000))


@case("grep", "grep")
def grep(b):
    b.write("data", text(b.size(2000, 100000)))
    for arguments in (["-cE", "(hot|pa+th)[0-9]+ edge"], ["-n", "loop9.*call"], ["-o", "stream[0-9]*"],
                      ["-v", "e"], ["-P", r"(\w+)\d \w+\d \1"], ["-F", "block96"], ["-q", "nothing"]):
        b.run("grep", *arguments, "data")


@case("sed", "sed")
def sed(b):
    b.write("data", text(b.size(2000, 50000)))
    b.run("sed", "-n", r"s/\(hot[0-9]*\).*\(path[0-9]*\)/\2-\1/p;$=", "data")
    b.run("sed", "-E", "/loop/{h;G;s/\\n/|/};y/abc/xyz/;5,10d", "data")


@case("awk", "gawk")
def awk(b):
    b.write("data", text(b.size(2000, 50000)))
    program = "{ n[$2] += NF; s = s + length($0) } END { for (k in n) print k, n[k] | \"sort\"; " \
              "close(\"sort\"); print s, sprintf(\"%.6f\", sin(1)), toupper(\"x\"), substr(\"hello\", 2, 3) }"
    b.run("gawk", program, "data")
    if b.tool("mawk"):
        b.run("mawk", program, "data")


@case("tar", "tar", "gzip", "xz")
def tar(b):
    os.mkdir(b.path("tree"))
    for i in range(20):
        b.write("tree/f%d" % i, text(i * 5))
        os.utime(b.path("tree/f%d" % i), (1e9, 1e9))
    os.utime(b.path("tree"), (1e9, 1e9))
    b.run("tar", "--sort=name", "-cf", "a.tar", "tree", files=["a.tar"])
    b.run("tar", "-czf", "a.tar.gz", "--sort=name", "tree")
    b.run("tar", "-cJf", "a.tar.xz", "--sort=name", "tree", files=["a.tar.xz"])
    b.run("tar", "-tvzf", "a.tar.gz")
    b.run("tar", "-xJf", "a.tar.xz", "-C", ".", "--overwrite", files=["tree/f19"])


# Compression.

@case("gzip", "gzip")
def gzip(b):
    b.write("data", text(b.size(3000, 200000)))
    b.run("gzip", "-9nkf", "data", files=["data.gz"])
    b.run("gzip", "-dc", "data.gz")
    b.run("gzip", "-d", "no-such.gz")


@case("bzip2", "bzip2")
def bzip2(b):
    b.write("data", text(b.size(2000, 100000)))
    b.run("bzip2", "-k", "data", files=["data.bz2"])
    b.run("bzip2", "-dc", "data.bz2")


@case("xz", "xz")
def xz(b):
    b.write("data", text(b.size(4000, 100000)))
    b.run("xz", "-T2", "--block-size=100000", "-3k", "data", files=["data.xz"])
    b.run("xz", "-T2", "-dc", "data.xz")


@case("zstd", "zstd")
def zstd(b):
    b.write("data", text(b.size(8000, 200000)))
    b.run("zstd", "-T2", "-q", "-9", "data", files=["data.zst"])
    b.run("zstd", "-dqc", "data.zst")


# Interpreters.

@case("perl", "perl")
def perl(b):
    b.run("perl", "-e", r'''
use strict; my %%h; for my $i (1..%d) { $h{$i %% 97} .= sprintf("%%x", $i * 7); }
print join(",", map { length $h{$_} } sort { $a <=> $b } keys %%h), "\n";
my $t = join " ", 1..2000; my $n = () = $t =~ /(\d)\1/g; print "$n\n"; eval { die "x\n" }; print $@;
my $pid = fork; if (!$pid) { exit 5 } waitpid $pid, 0; print $? >> 8, "\n"; $SIG{ALRM} = sub { print "alarm\n" };
use Time::HiRes; Time::HiRes::alarm(0.02); select undef, undef, undef, 1; print `echo sub`; exit 3''' % b.size(5000, 300000))


@case("python3", "python3")
def python3(b):
    b.write("script.py", r'''
import hashlib, json, re, signal, subprocess, sys, threading, zlib, functools, os
n = %d
print(sum(i * i for i in range(n)), hashlib.sha256(b"x" * n).hexdigest())
print(json.dumps({str(i): [i, None, 1.5] for i in range(50)})[:200], len(re.findall(r"(\d)\1", str(3 ** n))))
@functools.lru_cache(None)
def fib(k): return k if k < 2 else fib(k - 1) + fib(k - 2)
print(fib(80)); total = []; lock = threading.Lock()
def work(k):
    s = sum(range(k * 1000))
    with lock: total.append(s)
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sum(total), zlib.crc32(b"abc" * 1000))
print(subprocess.run(["echo", "child"], capture_output=True).stdout)
hits = []; signal.signal(signal.SIGALRM, lambda *a: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.02)
signal.pause(); print(hits)
try: 1 / 0
except ZeroDivisionError as e: print(e)
sys.exit(4)
''' % b.size(2000, 200000))
    b.env["PYTHONHASHSEED"] = "0"
    b.run("/usr/bin/python3", "-IS", "script.py")


@case("sqlite3", "sqlite3")
def sqlite3(b):
    b.run("sqlite3", "data.db", input=(
        "create table t(a integer primary key, b, c text); begin; with recursive n(i) as (select 1 union all "
        "select i+1 from n where i < %d) insert into t select i, i*i%%101, printf('%%05d', i*7919 %% 10007) from n; "
        "commit; create index i on t(c); select b, count(*), min(c), max(c) from t group by b order by 2, 1; "
        "select count(*) from t x join t y on x.a = y.b; select * from t order by c limit 5; "
        "select * from nothing; pragma integrity_check;" % b.size(2000, 100000)).encode())


@case("lua", "lua5.4")
def lua(b):
    lua_program(b, "lua5.4")


@case("luajit", "luajit")
def luajit(b):
    lua_program(b, "luajit")


def lua_program(b, name):
    b.write("p.lua", r'''
local n = %d
local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end
print(fib(20)); local t = {} for i = 1, n do t[i] = (i * 7919) %% 10007 end
table.sort(t) local s = 0 for i = 1, n do s = (s * 31 + t[i]) %% 1000003 end print(s)
local c = coroutine.wrap(function() for i = 1, 100 do coroutine.yield(i) end end)
local sum = 0 for i = 1, 100 do sum = sum + c() end print(sum, pcall(error, "x"))
local parts = {} for w in ("the hot path of a hot loop"):gmatch("%%a+") do parts[#parts + 1] = w:upper() end
print(table.concat(parts, "-"), string.format("%%5.2f %%x", 3.14159, 255))
for i = 1, n do local x = {i} setmetatable(x, {__index = function(_, k) return k end}) sum = sum + x.a:len() end
print(sum, select("#", 1, 2, 3)) os.exit(6)
''' % b.size(20000, 2000000))
    b.run(name, "p.lua")


@case("node", "node")
def node(b):
    b.write("p.js", r'''
const n = %d; const crypto = require('crypto'); const zlib = require('zlib');
function fib(k) { return k < 2 ? k : fib(k - 1) + fib(k - 2); }
console.log(fib(22), [...Array(n).keys()].map(i => (i * 7919) %% 10007).sort((a, b) => a - b)[n >> 1]);
console.log(crypto.createHash('sha256').update('x'.repeat(n)).digest('hex'));
console.log(zlib.gunzipSync(zlib.gzipSync('abc'.repeat(1000))).length, /(\d)\1/.exec('12331')[0]);
class A { constructor(x) { this.x = x; } get y() { return this.x * 2; } }
let s = 0; for (let i = 0; i < n * 10; i++) { s += new A(i).y %% 7; } console.log(s);
const { Worker, isMainThread } = require('worker_threads');
new Promise(r => setTimeout(r, 5)).then(() => { console.log('later'); try { null.x } catch (e) { console.log(e.message) } process.exit(5); });
''' % b.size(10000, 500000))
    b.run("node", "p.js", timeout=600)


@case("go", "go")
def go(b):
    b.write("p.go", r'''
package main
import ("fmt"; "os"; "sort"; "sync"; "strings"; "time")
func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func main() {
	n := %d
	var wg sync.WaitGroup
	results := make([]int, 8)
	for i := range results { wg.Add(1); go func(i int) { defer wg.Done(); for k := 0; k < n; k++ { results[i] += k * i %% 7 } }(i) }
	wg.Wait()
	c := make(chan int)
	go func() { for i := 0; i < 1000; i++ { c <- i }; close(c) }()
	sum := 0
	for v := range c { sum += v }
	m := map[string]int{}
	for i := 0; i < n; i++ { m[fmt.Sprint("k", i%%100)] += i }
	keys := []string{}
	for k := range m { keys = append(keys, k) }
	sort.Strings(keys)
	fmt.Println(results, sum, fib(20), strings.Join(keys[:5], ","), m["k7"])
	func() { defer func() { fmt.Println("recovered", recover()) }(); var p *int; fmt.Println(*p) }()
	select { case <-time.After(5 * time.Millisecond): fmt.Println("later") }
	os.Exit(8)
}
''' % b.size(20000, 2000000))
    b.env.update(GOCACHE=os.path.join(os.path.dirname(b.dir), "go-cache"), GO111MODULE="off", GOPATH=b.path("go"))
    b.alone("go", "build", "-o", "p", "p.go", timeout=300)
    b.run(b.path("p"))


@case("java", "java", "javac")
def java(b):
    b.write("P.java", r'''
import java.util.*;
import java.util.stream.*;
public class P {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] a) throws Exception {
        int n = %d;
        System.out.println(fib(22));
        System.out.println(IntStream.range(0, n).map(i -> (int) ((long) i * 7919 %% 10007)).sorted().sum());
        Map<Integer, Integer> m = new TreeMap<>();
        for (int i = 0; i < n; i++) m.merge(i %% 97, i, Integer::sum);
        System.out.println(m.values().stream().limit(5).collect(Collectors.toList()));
        Thread[] t = new Thread[4]; int[] r = new int[4];
        for (int i = 0; i < 4; i++) { int k = i; t[i] = new Thread(() -> { for (int j = 0; j < n; j++) r[k] += j %% (k + 2); }); t[i].start(); }
        for (Thread x : t) x.join();
        System.out.println(Arrays.toString(r));
        try { Object o = null; o.toString(); } catch (NullPointerException e) { System.out.println("caught"); }
        System.exit(9);
    }
}
''' % b.size(10000, 1000000))
    b.alone("javac", "P.java", timeout=300)
    b.run("java", "-cp", ".", "P", timeout=600)
    b.run("java", "-Xint", "-cp", ".", "P", timeout=600)


# Tools of programmers.

@case("gcc", "gcc")
def gcc(b):
    b.write("big.c", c_source(b.size(30, 1500)))
    b.run("gcc", "-O2", "-c", "-o", "big.o", "big.c", files=["big.o"], timeout=600)
    b.run("gcc", "-O1", "-g", "-o", "big", "big.c", files=["big"], timeout=600)
    b.run("gcc", "-E", "-P", "big.c")
    b.run("gcc", "-c", "missing.c")
    b.write("bad.c", "int main(void) { return x; }\n")
    b.run("gcc", "-c", "bad.c")
    b.run(b.path("big"))


@case("g++", "g++")
def gxx(b):
    b.write("p.cc", "#include <map>\n#include <string>\n#include <iostream>\nint main() { std::map<std::string, "
            "int> m; m[\"x\"]++; for (auto &p : m) std::cout << p.first << p.second << '\\n'; }\n")
    b.run("g++", "-O1", "-o", "p", "p.cc", files=["p"], timeout=600)
    b.run(b.path("p"))


@case("git", "git")
def git(b):
    b.env.update(GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="A",
                 GIT_COMMITTER_EMAIL="a@b", GIT_AUTHOR_DATE="1000000000 +0000",
                 GIT_COMMITTER_DATE="1000000000 +0000", GIT_CONFIG_GLOBAL="/dev/null",
                 GIT_CONFIG_SYSTEM="/dev/null")
    b.run("git", "init", "-q", "-b", "trunk", ".")
    b.run("git", "config", "pack.threads", "1")
    for i in range(b.size(3, 30)):
        b.write("f%d" % (i % 5), text(20 * i + 20))
        b.run("git", "add", ".")
        b.run("git", "commit", "-qm", "number %d" % i)
    b.run("git", "log", "--stat", "-p", "--no-color")
    b.run("git", "checkout", "-q", "-b", "side", "HEAD~1")
    b.run("git", "merge", "-q", "trunk")
    b.run("git", "gc", "-q")
    b.run("git", "fsck", "--no-progress")
    b.run("git", "rev-parse", "HEAD")
    b.run("git", "grep", "-c", "hot5")
    b.run("git", "status")
    b.run("git", "nothing")


@case("cmake", "cmake", "ninja", "gcc")
def cmake(b):
    b.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(tiny C)\nadd_executable(tiny t.c)\n"
            "foreach(i RANGE 200)\n  string(SHA1 h \"${i}\")\nendforeach()\nmessage(STATUS ${h})\n")
    b.write("t.c", "int main(void) { return 3; }\n")
    b.run("cmake", "-G", "Ninja", "-S", ".", "-B", "build", timeout=600)
    b.run("ninja", "-C", "build", "-j1", timeout=600)
    b.run(b.path("build/tiny"))


@case("openssl", "openssl")
def openssl(b):
    b.write("data", text(b.size(2000, 100000)))
    for digest in ("sha256", "sha512", "md5", "sha3-256", "blake2b512"):
        b.run("openssl", "dgst", "-" + digest, "data")
    for cipher in ("aes-256-cbc", "aes-128-ctr", "chacha20", "camellia-128-cbc"):
        b.run("openssl", "enc", "-" + cipher, "-K", "11" * (32 if "256" in cipher or "cha" in cipher else 16),
              "-iv", "22" * 16, "-in", "data", "-out", cipher, files=[cipher])
    b.alone("openssl", "genrsa", "-out", "fixed.pem", "1024")
    b.run("openssl", "rsa", "-in", "fixed.pem", "-check", "-noout")
    b.run("openssl", "genrsa", "-out", "new.pem", "1024", stdout=False, stderr=False)
    b.run("openssl", "rsa", "-in", "new.pem", "-check", "-noout")
    b.run("openssl", "prime", "-hex", "FFFFFFFFFFFFFFC5")
    b.run("openssl", "speed", "-seconds", "1", "-bytes", "1024", "sha256", stdout=False, stderr=False)


# Others.

@case("x264", "x264")
def x264(b):
    frames = b.size(3, 60)
    b.write("in.yuv", bytes((x * 3 + y * f + (x ^ y)) & 255 for f in range(frames)
                            for y in range(96) for x in range(64)))
    b.run("x264", "--threads", "2", "--quiet", "--input-res", "64x64", "-o", "out.264", "in.yuv",
          stderr=False, files=["out.264"])


@case("ffmpeg", "ffmpeg")
def ffmpeg(b):
    b.run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=d=%d:s=96x64" % b.size(1, 10), "-c:v", "mpeg4",
          "-flags", "bitexact", "-fflags", "bitexact", "-threads", "2", "out.avi", files=["out.avi"], timeout=600)


@case("gnugo", "gnugo")
def gnugo(b):
    moves = "".join("genmove %s\n" % "bw"[i % 2] for i in range(b.size(4, 40)))
    b.run("gnugo", "--seed", "1", "--level", b.size("1", "8"), "--mode", "gtp",
          input=("boardsize 9\n" + moves + "showboard\nfinal_score\nquit\n").encode(), timeout=600)


@case("cjpeg", "cjpeg", "djpeg")
def cjpeg(b):
    n = b.size(160, 1500)
    b.write("in.ppm", b"P6 %d %d 255\n" % (n, n) + bytes((x * y + x) % 256 for y in range(n) for x in range(n * 3)))
    b.run("cjpeg", "-outfile", "out.jpg", "in.ppm", files=["out.jpg"])
    b.run("djpeg", "out.jpg")


# Servers: they run in the engine, their clients alone.

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server in the background, ended in any case when it is left."""

    def __init__(self, bench, *argv):
        self.process = subprocess.Popen(bench.command(argv), cwd=bench.dir, env=bench.env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.communicate()

    def wait_for(self, port):
        for _ in range(6000):
            if self.process.poll() is not None:
                raise RuntimeError("the server ended: %s" % (self.process.communicate(),))
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError("the server does not listen")

    def end(self, limit=300):
        """Its status, once it has ended by itself."""
        self.process.communicate(timeout=limit)
        return self.process.returncode


@case("redis", "redis-server", "redis-cli", "redis-benchmark")
def redis(b):
    port = free_port()
    with Server(b, "redis-server", "--port", str(port), "--save", "", "--appendonly", "yes",
                "--io-threads", "2", "--bind", "127.0.0.1") as server:
        server.wait_for(port)
        client = ["redis-cli", "-p", str(port)]
        b.alone("redis-benchmark", "-p", str(port), "-n", str(b.size(1000, 50000)), "-q", "-c", "10",
                "-t", "set,get,incr,lpush,zadd", timeout=300)
        for command in ("get counter:__rand_int__", "llen mylist", "set a b", "append a c", "get a",
                        "zadd z 1 x 2 y", "zrange z 0 -1 withscores", "bgrewriteaof", "nothing",
                        "lrange mylist 0 3"):
            b.outcome.append((command, b.alone(*client, *command.split())))
        b.outcome.append(("eval", b.alone(*client, "eval", "local s=0 for i=1,10000 do s=s+i end return s", "0")))
        b.alone(*client, "shutdown", "nosave", "force")
        b.outcome.append(("status", server.end()))


@case("nginx", "nginx", "curl")
def nginx(b):
    port = free_port()
    os.mkdir(b.path("root"))
    os.chmod(b.dir, 0o755)
    os.chmod(os.path.dirname(b.dir), 0o755)
    for i in range(5):
        b.write("root/f%d" % i, text(i * 50 + 1))
    user = "user nobody nogroup;" if os.geteuid() == 0 else ""
    b.write("nginx.conf", """%s daemon off; worker_processes 2; pid %s/pid; error_log %s/errors;
events { worker_connections 64; }
http { access_log off; client_body_temp_path %s/a; proxy_temp_path %s/b; fastcgi_temp_path %s/c;
uwsgi_temp_path %s/d; scgi_temp_path %s/e; gzip on; gzip_types *;
server { listen 127.0.0.1:%d; root %s/root; } }
""" % ((user,) + (b.dir,) * 7 + (port, b.dir)))
    with Server(b, "nginx", "-c", b.path("nginx.conf"), "-p", b.dir) as server:
        server.wait_for(port)
        for i in range(b.size(10, 200)):
            url = "http://127.0.0.1:%d/%s" % (port, "f%d" % (i % 5) if i % 7 else "missing")
            got = b.alone("curl", "-s", *(["--compressed"] if i % 2 else []), url)
            b.outcome.append(("get %d" % i, re.sub(rb"nginx/[\d.]+", b"nginx", got)))
        with open(b.path("pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGQUIT)
        b.outcome.append(("status", server.end()))


@case("curl", "curl")
def curl(b):
    b.write("file", text(100))
    b.run("curl", "-s", "file://" + b.path("file"))
    refused = b.run("curl", "-sS", "http://127.0.0.1:1/", stderr=False)
    b.outcome.append(("refused", re.sub(rb"after \d+ ms", b"after a while", refused.stderr)))
