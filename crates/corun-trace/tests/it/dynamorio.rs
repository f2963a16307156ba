//! What DynamoRIO sees of small programs, and that they run as ever.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use corun_trace::{
    Direction, DynamoRio, Ending, Event, Marker, Phase, Qemu, Recording, Target, ThreadId,
    TouchedLine, TracePlan, Traced, Tracer,
};
use tempfile::TempDir;

fn trace(program: &Path, arguments: &[&str]) -> (Traced, Recording) {
    trace_planned(program, arguments, TracePlan::Whole)
}

fn trace_planned(program: &Path, arguments: &[&str], plan: TracePlan) -> (Traced, Recording) {
    let mut recording = Recording::default();
    let target = Target {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        ..Target::default()
    };
    let stop = AtomicBool::new(false);
    let traced = DynamoRio.trace(&target, plan, &mut recording, &stop).unwrap();
    (traced, recording)
}

/// Builds a program of assembly or C in a folder; nothing of the C library in assembly.
fn build(folder: &TempDir, name: &str, source: &str) -> PathBuf {
    let (from, to) = (folder.path().join(name), folder.path().join("program"));
    std::fs::write(&from, source).unwrap();
    let options: &[&str] =
        if name.ends_with(".s") { &["-nostdlib", "-static"] } else { &["-O1", "-pthread"] };
    let status = Command::new("cc").args(options).arg("-o").arg(&to).arg(&from).status().unwrap();
    assert!(status.success());
    to
}

/// 200,004 instructions.
const COUNTING: &str = "
    .globl _start
    _start: mov $100000, %ecx
    1:      dec %ecx
            jnz 1b
            mov $60, %eax
            xor %edi, %edi
            syscall
";

/// Everything that closes what it has inherited (closefrom(3)) gives the highest number there can be. The channel of a client
/// is among what is closed.
#[test]
fn all_descriptors_but_three_are_closed_at_once() {
    let folder = TempDir::new().unwrap();
    let source = "
        .globl _start
        # dup2(0, 50); close_range(3, ~0, 0); fcntl(50, F_GETFD) is -EBADF
        _start: mov $33, %eax
                xor %edi, %edi
                mov $50, %esi
                syscall
                mov $436, %eax
                mov $3, %edi
                mov $-1, %esi
                xor %edx, %edx
                syscall
                mov %eax, %ebx
                mov $72, %eax
                mov $50, %edi
                mov $1, %esi
                syscall
                add %eax, %ebx
                lea 16(%rbx), %edi
                mov $60, %eax
                syscall
    ";
    let program = build(&folder, "closes.s", source);
    let (traced, recording) = trace(&program, &[]);
    assert_eq!(traced.ending, Ending::Exited(7));
    assert_eq!(executed(&recording), traced.instructions);
    if let Err(missing) = Qemu.ready() {
        return corun_testing::skip("trace by qemu", &missing.to_string());
    }
    let target = Target { program, ..Target::default() };
    let (mut recording, stop) = (Recording::default(), AtomicBool::new(false));
    let traced = Qemu.trace(&target, TracePlan::Whole, &mut recording, &stop).unwrap();
    assert_eq!(traced.ending, Ending::Exited(7));
    assert_eq!((executed(&recording), traced.instructions), (18, 18));
}

fn markers(recording: &Recording, thread: u32) -> Vec<Marker> {
    let of = |event| match event {
        Event::Marker(ordered) => Some(ordered.marker),
        Event::Block { .. } => None,
    };
    recording.events(ThreadId(thread)).filter_map(of).collect()
}

fn executed(recording: &Recording) -> u64 {
    let threads = 0..recording.threads.len() as u32;
    threads.map(|thread| recording.instructions(ThreadId(thread)).count() as u64).sum()
}

#[test]
fn a_loop_has_its_instructions_and_addresses() {
    let folder = TempDir::new().unwrap();
    let source = "
        .globl _start
        _start: mov $1000, %ecx
                sub $64, %rsp
                mov %rsp, %rbx
        1:      mov %rcx, (%rbx,%rcx,0)
                add %rcx, 8(%rbx)
                push %rcx
                pop %rdx
                dec %ecx
                jnz 1b
                mov $60, %eax
                mov $7, %edi
                syscall
    "
    .replace("(%rbx,%rcx,0)", "(%rbx)");
    let (traced, recording) = trace(&build(&folder, "loop.s", &source), &[]);
    assert_eq!(traced.ending, Ending::Exited(7));
    assert_eq!(traced.instructions, 3 + 6 * 1000 + 3);
    assert_eq!(executed(&recording), traced.instructions);
    let accesses: Vec<_> = recording.accesses(ThreadId(0)).collect();
    assert_eq!(accesses.len(), 4 * 1000);
    let base = accesses[0].address;
    for iteration in accesses.chunks(4) {
        let seen: Vec<_> = iteration
            .iter()
            .map(|access| (access.address.wrapping_sub(base) as i64, access.direction))
            .collect();
        let expected = [
            (0, Direction::Write),
            (8, Direction::ReadWrite),
            (-8, Direction::Write),
            (-8, Direction::Read),
        ];
        assert_eq!(seen, expected);
    }
    assert_eq!(markers(&recording, 0), [Marker::SystemCall(60), Marker::Ended]);
}

#[test]
fn a_window_has_its_length_and_says_what_was_skipped() {
    let folder = TempDir::new().unwrap();
    let program = build(&folder, "window.s", COUNTING);
    let plan = TracePlan::Window { skip: 50_001, length: Some(7000) };
    let (traced, recording) = trace_planned(&program, &[], plan);
    assert_eq!(traced.ending, Ending::Exited(0));
    assert_eq!(traced.instructions, 1 + 2 * 100_000 + 3);
    assert_eq!(executed(&recording), 7000);
    let markers = markers(&recording, 0);
    let [Marker::Begin { phase: Phase::Counted, skipped }, Marker::Ended] = markers[..] else {
        panic!("{markers:?}");
    };
    assert!((50_001..50_004).contains(&skipped), "{skipped}");
}

/// Short gaps, in which code stores entries that are dropped, and long ones, before and after which it is rebuilt.
#[test]
fn samples_are_spread_over_the_run() {
    for rounds in [100_000, 120_000_000] {
        let folder = TempDir::new().unwrap();
        let source = COUNTING.replace("100000", &rounds.to_string());
        let program = build(&folder, "samples.s", &source);
        let total = 2 * rounds;
        let plan = TracePlan::Samples {
            count: 2,
            length: 3000,
            warm_up: 1000,
            total,
            seed: 0,
            look_back: 0,
            first_part: 0,
        };
        let (traced, recording) = trace_planned(&program, &[], plan);
        assert_eq!(traced.instructions, 1 + total + 3);
        assert_eq!(executed(&recording), 2 * 4000);
        let markers = markers(&recording, 0);
        let begun = markers.iter().filter_map(|marker| match *marker {
            Marker::Begin { phase, skipped } => Some((phase, (skipped + 50).div_euclid(100))),
            _ => None,
        });
        let begun: Vec<_> = begun.collect();
        let expected = [
            (Phase::WarmUp, total / 400 - 25),
            (Phase::Counted, 0),
            (Phase::WarmUp, total / 200 - 40),
            (Phase::Counted, 0),
        ];
        assert_eq!(begun, expected);
    }
}

/// In the gaps the program stores more entries than a buffer holds.
/// Of a loop that stores to every third line from the last on, with gaps that are looked back on in whole and in part.
#[test]
fn what_a_gap_touches_is_listed_in_the_order_of_the_last_accesses() {
    const ROUNDS: u64 = 40_000;
    let folder = TempDir::new().unwrap();
    let source = format!(
        "
        .globl _start
        .bss
        .balign 4096
        area:   .skip 192 * ({ROUNDS} + 1)
        .text
        _start: lea area(%rip), %rbx
                mov ${ROUNDS}, %ecx
        1:      imul $192, %rcx, %rax
                movb $1, (%rbx,%rax)
                dec %ecx
                jnz 1b
                mov $60, %eax
                xor %edi, %edi
                syscall
    "
    );
    let program = build(&folder, "lines.s", &source);
    let of = |look_back| {
        let (count, length, warm_up, total, seed) = (4, 400, 400, 4 * ROUNDS, 0);
        let plan =
            TracePlan::Samples { count, length, warm_up, total, seed, look_back, first_part: 0 };
        let (traced, recording) = trace_planned(&program, &[], plan);
        assert_eq!(traced.instructions, 2 + 4 * ROUNDS + 3);
        recording
    };
    assert_eq!(of(0).threads[0].touched, []);
    for look_back in [8000, 100_000] {
        let recording = of(look_back);
        let begins = markers(&recording, 0).into_iter().scan(0, |at, marker| match marker {
            Marker::Begin { skipped, .. } => {
                let begin = *at + skipped;
                *at = begin + 400;
                Some(begin)
            }
            _ => None,
        });
        let begins: Vec<u64> = begins.collect();
        let lists = &recording.threads[0].touched;
        let places: Vec<u64> = lists.iter().map(|it| it.position).collect();
        let warm_ups: Vec<u64> = begins.into_iter().step_by(2).collect();
        assert_eq!((places.len(), &places), (4, &warm_ups), "a list at the begin of each warm-up");
        let mut before = 0;
        for list in lists {
            let data: Vec<_> = list.lines.iter().filter(|line| !line.is_code()).collect();
            assert!(data.iter().all(|line| line.is_written()));
            // Each round stores to the line three before; one whose place the code takes counts as older.
            let is_next = |two: &[&TouchedLine]| two[0].address() == two[1].address() + 192;
            let others = data.windows(2).filter(|two| !is_next(two)).count();
            assert!(
                others <= 4 + data.len() / 100,
                "{others} of {} lines are not in order",
                data.len()
            );
            // With the recorded intervals before.
            let known = look_back + if before == 0 { 0 } else { 800 };
            let passed = (list.position - before).min(known);
            let expected = passed / 4;
            assert!(data.len().abs_diff(expected as usize) <= 2, "{} of {expected}", data.len());
            assert!(list.lines.iter().any(|line| line.is_code()) || passed < 1000);
            before = list.position;
        }
    }
}

#[test]
fn what_samples_record_is_what_is_executed_there() {
    const ROUNDS: u64 = 3_000_000;
    let folder = TempDir::new().unwrap();
    let source = format!(
        "
        .globl _start
        .bss
        area:   .skip {ROUNDS} + 1
        .text
        _start: lea area(%rip), %rbx
                mov ${ROUNDS}, %ecx
        1:      movb $1, (%rbx,%rcx)
                dec %ecx
                jnz 1b
                mov $60, %eax
                xor %edi, %edi
                syscall
    "
    );
    let plan = TracePlan::Samples {
        count: 3,
        length: 6000,
        warm_up: 3000,
        total: 3 * ROUNDS,
        seed: 0,
        look_back: 0,
        first_part: 0,
    };
    let (traced, recording) = trace_planned(&build(&folder, "places.s", &source), &[], plan);
    assert_eq!((traced.ending, traced.instructions), (Ending::Exited(0), 2 + 3 * ROUNDS + 3));
    let mut accesses = recording.accesses(ThreadId(0)).map(|access| access.address);
    let (mut position, mut sums) = (0, Vec::new());
    for event in recording.events(ThreadId(0)) {
        match event {
            Event::Marker(ordered) => {
                if let Marker::Begin { skipped, .. } = ordered.marker {
                    position += skipped;
                }
            }
            Event::Block { executed, .. } => {
                // Each round is a block, whose store is an address lower than that of the round before.
                sums.push(accesses.next().expect("an access in each block") + (position - 2) / 3);
                position += u64::from(executed);
            }
        }
    }
    assert_eq!(sums.len(), 3 * 9000 / 3);
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

#[test]
fn every_form_of_operand_has_its_address() {
    let folder = TempDir::new().unwrap();
    let source = "
        .globl _start
        .bss
        .balign 64
        area:   .skip 4096
        .text
        _start: lea area(%rip), %rbx
                mov $3, %esi
                mov area+8(%rip), %rax
                mov 16(%rbx,%rsi,8), %rax
                lea area(%rip), %rdi
                lea area+1024(%rip), %rsi
                mov $5, %ecx
                cld
                rep movsq
                lea area(%rip), %rdi
                xor %eax, %eax
                mov $100, %ecx
                repne scasb
                std
                mov $4, %ecx
                lea area+512(%rip), %rdi
                rep stosl
                cld
                mov $60, %eax
                xor %edi, %edi
                syscall
    ";
    let (traced, recording) = trace(&build(&folder, "forms.s", source), &[]);
    assert_eq!(traced.ending, Ending::Exited(0));
    assert_eq!(traced.instructions, 21);
    let accesses: Vec<_> = recording.accesses(ThreadId(0)).collect();
    let area = accesses[0].address - 8;
    let seen: Vec<_> = accesses.iter().map(|access| access.address.wrapping_sub(area)).collect();
    let mut expected = vec![8, 40];
    expected.extend((0..5).flat_map(|word| [1024 + 8 * word, 8 * word]));
    expected.push(0);
    expected.extend((0..4).map(|word| 512 - 4 * word));
    assert_eq!(seen, expected);
}

#[test]
fn a_crash_ends_after_the_last_executed_instruction() {
    let folder = TempDir::new().unwrap();
    let source = "
        .globl _start
        _start: push %rax
                push %rax
                mov $16, %ebx
                mov %rax, (%rbx)
                push %rax
                ud2
    ";
    let (traced, recording) = trace(&build(&folder, "crash.s", source), &[]);
    assert_eq!(traced.ending, Ending::Killed(11));
    assert_eq!(traced.instructions, 3);
    assert_eq!(recording.accesses(ThreadId(0)).count(), 2);
    assert_eq!(markers(&recording, 0), [Marker::Signal(11), Marker::Ended]);
}

#[test]
fn threads_have_their_own_events() {
    let folder = TempDir::new().unwrap();
    let source = "
        #include <pthread.h>
        static void *work(void *of) { volatile long *sum = of; for (int i = 0; i < 100000; i++) *sum += i; return 0; }
        int main(void) {
            pthread_t threads[4]; long sums[4] = {0};
            for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, &sums[i]);
            for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
            return 3;
        }
    ";
    let (traced, recording) = trace(&build(&folder, "threads.c", source), &[]);
    assert_eq!(traced.ending, Ending::Exited(3));
    assert_eq!(recording.threads.len(), 5);
    assert_eq!(executed(&recording), traced.instructions);
    for thread in 1..5 {
        let count = recording.instructions(ThreadId(thread)).count();
        assert!((400_000..900_000).contains(&count), "{count}");
        assert_eq!(markers(&recording, thread).last(), Some(&Marker::Ended));
    }
}

#[test]
fn a_child_runs_untraced_and_the_parent_goes_on() {
    let folder = TempDir::new().unwrap();
    let source = "
        #include <sys/wait.h>
        #include <unistd.h>
        int main(int count, char **words) {
            int status, ran;
            pid_t child = fork();
            if (child == 0) { volatile long sum = 0; for (int i = 0; i < 3000000; i++) sum += i; _exit(5); }
            waitpid(child, &status, 0);
            child = vfork();
            if (child == 0) { execl(\"/bin/sh\", \"sh\", \"-c\", \"env | grep -q ^DYNAMORIO && exit 1; exit 6\", (char *)0); _exit(9); }
            waitpid(child, &ran, 0);
            return WEXITSTATUS(status) * 10 + WEXITSTATUS(ran);
        }
    ";
    let (traced, recording) = trace(&build(&folder, "fork.c", source), &[]);
    assert_eq!(traced.ending, Ending::Exited(56));
    assert_eq!(recording.threads.len(), 1);
    assert!(traced.instructions < 1_000_000);
    let forked =
        markers(&recording, 0).iter().filter(|marker| matches!(marker, Marker::Forked(_))).count();
    assert_eq!(forked, 2);
}

#[test]
fn a_program_gives_its_output_and_sees_no_trace_of_the_tracer() {
    let folder = TempDir::new().unwrap();
    let output = folder.path().join("output");
    let script = format!("env > {}; exit 4", output.display());
    let (traced, _) = trace(Path::new("/bin/sh"), &["-c", &script]);
    assert_eq!(traced.ending, Ending::Exited(4));
    let seen = std::fs::read_to_string(output).unwrap();
    assert!(!seen.lines().any(|line| line.starts_with("DYNAMORIO")), "{seen}");
}

#[test]
fn a_process_that_becomes_another_program_ends_its_trace() {
    let (traced, recording) = trace(Path::new("/bin/sh"), &["-c", "exec /bin/sh -c 'exit 9'"]);
    assert_eq!(traced.ending, Ending::Exited(9));
    assert_eq!(markers(&recording, 0).last(), Some(&Marker::Replaced));
    assert_eq!(traced.remarks.len(), 1);
}

#[test]
fn a_script_is_run_by_its_interpreter() {
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh -e\nexit $(($1 + 1))\n").unwrap();
    let (traced, _) = trace(&script, &["41"]);
    assert_eq!(traced.ending, Ending::Exited(42));
}

#[test]
fn a_large_program_is_seen_whole() {
    let folder = TempDir::new().unwrap();
    let input = folder.path().join("input");
    let text: String = (0..40_000).map(|line| format!("{}\n", line * 7919 % 10_007)).collect();
    std::fs::write(&input, &text).unwrap();
    let (traced, recording) = trace(Path::new("/bin/gzip"), &["-k", input.to_str().unwrap()]);
    assert_eq!(traced.ending, Ending::Exited(0));
    assert_eq!(executed(&recording), traced.instructions);
    let packed = folder.path().join("input.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(packed).output().unwrap();
    assert!(unpacked.stdout == text.as_bytes());
}
