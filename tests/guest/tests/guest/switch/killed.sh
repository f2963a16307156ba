# What scenarios of SIGKILL begin with: a machine with much to lose, and ways to kill.
#
# A CPU is offline by hand, which the switch brings up; tasks and an interrupt are bound to the
# sibling that goes.
echo 0 >$cpus/cpu3/online
bind 2; bind 3; bind 7
echo 1 >/proc/irq/12/smp_affinity_list
mkdir -p $runtime
unfinished=$runtime/smt-unfinished.json
before
corun smt run --yes --state off -- wake true
restored unharmed

# Kills a command right after each of its steps, or those that `$among` lists, `$kill` saying how,
# and notes what `$check` finds wrong each time. On one CPU: see the program.
among=
at_each_step() {
    most=999
    [ -z "$among" ] || most=$(wc -l <$among)
    for number in $(seq $most); do
        killed=$(taskset 1 kill-at-step new /results/steps ${among:+--among $among} $kill \
            --from smt-switch.lock -- "$@")
        printf '%s\t%s\n' "$killed" "$($check)" >>/results/steps
        case $killed in killed*) ;; *) break ;; esac
    done
}

# Kills a command at `$times` times, evenly spread over how long it takes, or a part of that: the shortest of
# three runs, since a busy host makes one of them long. Every other time counts from when the switch is
# under way, however long that took.
part=1
at_many_times() {
    took=
    for round in 1 2 3; do
        begun=$(hundredths)
        "$@"
        this=$((($(hundredths) - begun) / part))
        [ "${took:-$this}" -lt "$this" ] || took=$this
    done
    for number in $(seq $times); do
        "$@" &
        corun=$!
        time=$((number * took * 10000 / times))
        if [ $((number % 2)) = 0 ]; then
            for poll in $(seq 2000); do
                [ ! -e $unfinished ] || break
                usleep 2000
            done
            time=$((time / 4))
        fi
        usleep $time
        [ ! -e $unfinished ] || echo $number >>/results/under-way
        $kill $corun 2>/dev/null || true
        wait $corun 2>/dev/null || true
        printf '%s\t%s\n' "time $number" "$($check)" >>/results/times
    done
}

# The time since the boot, in hundredths of a second.
hundredths() {
    read seconds rest </proc/uptime
    echo ${seconds%.*}${seconds#*.}
}

# Does what a user does who is told, and prints what went wrong with that or was lost.
mended() {
    kill-at-step unlocked $runtime/smt-switch.lock
    if [ -e $unfinished ]; then
        echo $number >>/results/mended
        corun topo 2>&1 >/dev/null | grep -q 'corun smt restore' || printf 'not reported; '
        corun smt restore 2>/dev/null || printf 'not mended; '
    fi
    lost
}

# The same for a change that was asked to stay.
let_go() {
    kill-at-step unlocked $runtime/smt-switch.lock
    [ ! -e $runtime/smt-held.json ] || corun smt restore 2>/dev/null || printf 'not mended; '
    lost
}
