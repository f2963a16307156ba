//! Arguments, names of files and their contents that would steer a terminal: every subcommand shows them, and
//! none of them works.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::common::{Scratch, corun};

/// A title, a line of another program's, colours, an overwritten line, a turned direction, no UTF-8.
const HOSTILE: &[u8] =
    b"x\x1b]0;owned\x07\ncorun: FORGED\x1b[31m\ry\xc2\x9b2J\xe2\x80\xae\xf3\xa0\x81\x81z";

fn bytes(parts: &[&[u8]]) -> OsString {
    OsString::from_vec(parts.concat())
}

/// Whatever a program writes that a terminal would obey, and lines that look like corun's.
#[track_caller]
fn is_harmless(arguments: &[OsString], text: &[u8]) {
    let text = String::from_utf8(text.to_vec()).unwrap_or_else(|error| {
        panic!("{arguments:?} writes {error}: {}", String::from_utf8_lossy(text))
    });
    let steers = |it: char| it != '\n' && corun_record::steers(it);
    if let Some(found) = text.chars().find(|it| steers(*it)) {
        panic!("{arguments:?} writes {found:?}: {text:?}");
    }
    let forged = text.lines().find(|line| line.starts_with("corun: FORGED"));
    assert_eq!(forged, None, "{arguments:?}: {text}");
}

/// Every place of a command line where a user's text stands, `@` for it, and `#` for a file of that content.
const LINES: &[&str] = &[
    "@",
    "--@",
    "measure @",
    "measure --placement @ -- true",
    "measure --core-type @ -- true",
    "measure --workload @",
    "measure --workload fib --param @",
    "measure --workload fib --param n=@",
    "measure --env @ -- true",
    "measure --cwd @ -- true",
    "measure --stdin @ -- true",
    "measure --throughput @ -- true",
    "measure --timeout @ -- true",
    "measure --json @/@ -- true",
    "measure --json # --csv # -- true",
    "measure --blocks 2 --placement free -- @",
    "measure --blocks 2 --placement free -- ./#",
    "measure --blocks 2 --placement free -- sh -c @",
    "bench list --tag @",
    "bench show @",
    "bench run @",
    "bench run dbench --param load=#",
    "bench run dbench --param load=@",
    "bench run --suite @",
    "bench memory-hierarchy --from @",
    "study show @",
    "study show #.toml",
    "study show @.toml",
    "study run #.toml",
    "models show @",
    "models show @.toml",
    "models show #.toml",
    "models check @ @.toml #.toml",
    "models check #.toml --json -",
    "models diff @ zen4",
    "simulate --model @ trace",
    "simulate --model zen4 @",
    "simulate --model zen4 #",
    "simulate --model zen4 --set @ #",
    "simulate --model zen4 --set @=1 #",
    "simulate --model zen4 --set rob.policy=@ #",
    "simulate --model zen4 --placement @ #",
    "simulate --model zen4 --block-file #",
    "simulate --model zen4 --block-file @",
    "predict --model @ -- true",
    "predict --tracer @ -- true",
    "predict --from-call @ -- true",
    "predict -- @",
    "schedule --topology @ --load batch:jobs=1,work=1s",
    "schedule --topology 1x1x1 --load @",
    "schedule --topology 1x1x1 --load @:@",
    "schedule --topology 1x1x1 --load batch:@=1",
    "schedule --topology 1x1x1 --load batch:jobs=@",
    "schedule --topology 1x1x1 --load tasks:#",
    "schedule --topology 1x1x1 --load perf-sched:#",
    "schedule --topology 1x1x1 --load rt-app:#",
    "schedule --topology 1x1x1 --policy cfs --load rt-app:# --csv -",
    "schedule --topology 1x1x1 --policy cfs --load rt-app:# --svg -",
    "schedule --topology 1x1x1 --load rt-app:@",
    "schedule --topology 1x2x2 --pairs # --load batch:jobs=1,work=1s",
    "schedule --topology 1x1x1 --costs # --load batch:jobs=1,work=1s",
    "schedule --topology 1x1x1 --cost @ --load batch:jobs=1,work=1s",
    "schedule --topology 1x1x1 --cost @=1us --load batch:jobs=1,work=1s",
    "schedule --topology 1x1x1 --policy @ --load batch:jobs=1,work=1s",
    "schedule --topology 1x1x1 --svg @/@ --load batch:jobs=1,work=1s",
    "topo --root @",
    "topo --root #",
    "topo --json @/@",
    "doctor --root @",
    "top --root @ --once",
    "top --root tree --once --interval 50ms",
    "top --yield @",
    "top --sort @",
    "top -- @",
    "doctor --root tree --watch 1ms",
    "topo --root tree",
    "topo --root tree --json -",
    "topo --root tree --svg -",
    "trace -o @/@ -- true",
    "trace -o out -- @",
    "trace -o out -- ./#",
    "trace -o out --from-call @ -- true",
    "trace -o out --tracer @ -- true",
    "trace -o out --sample @ -- true",
    "trace -o out --workload @",
    "trace -o out --workload fib --param @",
    "trace -o out --workload fib --operations 1 --param granularity=@",
    "trace info @",
    "trace info #",
    "trace check #",
    "trace convert --from champsim # -o @",
    "trace convert --from champsim @ -o @/@",
    "trace convert --to @ # -o out",
    "models calibrate --base @",
    "models calibrate --base #.toml",
    "models calibrate --output @",
    "models calibrate --block-file # --csv @/@",
    "models calibrate --cpu @",
    "audit --only @",
    "audit --pinned-to @",
    "smt run --state @ -- true",
    "smt @",
];

/// Contents of files: each form as far as its reader comes, and then what nobody expects.
fn contents() -> Vec<Vec<u8>> {
    let model = include_str!("../../../../models/zen4.toml");
    let hostile = HOSTILE;
    let text = String::from_utf8_lossy(hostile).replace(['\n', '"', '\\'], " ");
    vec![
        hostile.to_vec(),
        format!("{model}\n[{:?}]\n", String::from_utf8_lossy(hostile)).into_bytes(),
        format!("{model}\n# {text}\n").into_bytes(),
        format!(
            "format = \"corun-model\"\nversion = 1\ntitle = \"\\u001b]0;x\\u0007\\u202e{text}\"\n"
        )
        .into_bytes(),
        format!("format = \"corun-study\"\nversion = 1\nname = \"\\u001b\\u202e\"\n{text} = 1\n")
            .into_bytes(),
        format!("block,cycles\n{text},1\n").into_bytes(),
        format!("block,cycles\n4801c8,\"{text}\"\n").into_bytes(),
        format!("{{\"format\": \"{text}\", \"version\": 1}}").into_bytes(),
        b"{\"format\": \"\\u001b]0;x\\u0007\\u202e\", \"version\": 1, \"tasks\": {\"\\u001b\": 1}}"
            .to_vec(),
        br#"{"tasks": {"\u001b]0;\u202e": {"loop": 1, "run": 1000}}, "global": {"duration": 1}}"#
            .to_vec(),
        format!("{{\"tasks\": {{\"{text}\": {{\"run\": \"{text}\"}}}}}}").into_bytes(),
        format!("{text} 1234 [000] 1.000000: sched:sched_switch: {text}\n").into_bytes(),
        format!("NTCreateX \"{text}\" 0x00000000 0 0 SUCCESS {text}\n").into_bytes(),
        format!("#!{text}\n").into_bytes(),
    ]
}

#[test]
fn nothing_that_a_user_or_a_file_says_steers_a_terminal() {
    let scratch = Scratch::new();
    let tree = scratch.file("tree");
    for (file, text) in [
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/possible", "0-1\n"),
        ("sys/devices/system/cpu/present", "0-1\u{1b}[2J\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_id", "\u{1b}]0;x\u{7}\u{202e}\n"),
        (
            "sys/devices/system/cpu/vulnerabilities/mds",
            "Vulnerable \u{1b}]0;x\u{7}; SMT \u{9b}2J\n",
        ),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "\u{1b}[31mtsc\r\n"),
        ("proc/cmdline", "nosmt=\u{1b}]0;x\u{7} \u{202e}\n"),
        ("sys/hypervisor/type", "\u{1b}[31mhyp\n"),
        ("sys/devices/system/cpu/smt/control", "\u{1b}[31mon\n"),
        ("sys/devices/system/cpu/cpu1/topology/physical_package_id", "\u{1b}[31m0\n"),
        (
            "proc/cpuinfo",
            "processor : 0\nmodel name : \u{1b}[31mE\u{1b}]0;x\u{7}vil\u{202e} \u{9b}2J\nflags : hypervisor\n",
        ),
    ] {
        let path = tree.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let contents = contents();
    let files: Vec<PathBuf> = contents
        .iter()
        .enumerate()
        .map(|(number, content)| {
            for ending in [&b""[..], b".toml"] {
                let name = bytes(&[b"f", number.to_string().as_bytes(), HOSTILE, ending]);
                std::fs::write(scratch.path().join(&name), content).unwrap();
            }
            bytes(&[b"f", number.to_string().as_bytes(), HOSTILE]).into()
        })
        .collect();
    let mut all: Vec<Vec<OsString>> = Vec::new();
    for line in LINES {
        let words = |file: &PathBuf| -> Vec<OsString> {
            let of_word = |word: &str| {
                let parts = word.split_inclusive(['@', '#']).map(|part| {
                    let (plain, mark) = part.split_at(part.len() - 1);
                    match mark {
                        "@" => bytes(&[plain.as_bytes(), HOSTILE]),
                        "#" => bytes(&[plain.as_bytes(), file.as_os_str().as_encoded_bytes()]),
                        _ => part.into(),
                    }
                });
                parts.collect::<OsString>()
            };
            line.split(' ').map(of_word).collect()
        };
        match line.contains('#') {
            true => all.extend(files.iter().map(words)),
            false => all.push(words(&files[0])),
        }
    }
    // The other arguments of a user are UTF-8 on most systems, and clap refuses others early.
    let utf8 = |word: &OsString| {
        OsString::from(String::from_utf8_lossy(word.as_encoded_bytes()).into_owned())
    };
    let as_text: Vec<Vec<OsString>> = all
        .iter()
        .filter(|it| it.iter().any(|word| word.to_str().is_none()))
        .map(|it| it.iter().map(utf8).collect())
        .collect();
    all.extend(as_text);
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(arguments) =
                        all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                    {
                        let output = corun(arguments).current_dir(scratch.path()).output().unwrap();
                        is_harmless(arguments, &output.stdout);
                        is_harmless(arguments, &output.stderr);
                        assert!(output.status.code().is_some(), "{arguments:?}: {}", output.status);
                        let said = String::from_utf8_lossy(&output.stderr);
                        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}
