# What every scenario of the switch begins with: a machine with things to lose, and how to see
# whether they were lost. `before` and `restored` are the words of the tests.
exec </dev/null
export cpus=/sys/devices/system/cpu
runtime=/run/corun
bound=

# Starts a task that is bound to CPUs, given as a mask in hexadecimal.
bind() {
    fifo=/tmp/bound-$1-$(ls /tmp | wc -l)
    mkfifo "$fifo"
    taskset "$1" cat <>"$fifo" &
    bound="$bound /proc/$!/status"
}

# Runs a command after waking all bound tasks: that is when the kernel takes a mask away of which no
# CPU is online.
cat >/bin/wake <<'end'
#!/bin/sh
for fifo in /tmp/bound-*; do
    [ ! -e "$fifo" ] || echo >"$fifo"
done
exec "$@"
end
chmod +x /bin/wake

# Prints everything that has to come back; what this machine does not have is left out.
state() {
    grep -H . $cpus/cpu*/online $cpus/smt/control /proc/irq/*/smp_affinity_list \
        /cpuset/*/cpuset.cpus /cpuset/*/tasks /cpuset/*/*/cpuset.cpus /cpuset/*/*/tasks 2>/dev/null || true
    [ -z "$bound" ] || grep -H Cpus_allowed_list $bound
}

before() {
    state >/tmp/before
}

# Prints what is not as it was before, once nobody is switching any more; nothing if all is well.
lost() {
    kill-at-step unlocked $runtime/smt-switch.lock
    state >/tmp/after
    { diff /tmp/before /tmp/after || true; } | sed -n '/^[-+][^-+]/p' | tr '\n\t' '; '
    [ ! -e $runtime/smt-unfinished.json ] || printf 'a state file is left; '
    ! pidof corun >/dev/null || printf 'a corun is left; '
}

# Notes under a name what is not as it was before.
restored() {
    printf '%s\t%s\n' "$1" "$(lost)" >>/results/restored
}

# Runs a command and keeps what it printed and its exit status under a name.
try() {
    name=$1
    shift
    code=0
    "$@" >"/results/$name.out" 2>"/results/$name.err" || code=$?
    echo "$code" >"/results/$name.code"
}
