//! Pages and pictures without a browser: their size, their escapes, and every format that corun writes.

use std::fs;
use std::path::Path;

use corun_page::{
    InputDocument, MAX_PAGE, PageError, page, pictures, schedule_to_svg, threads_to_svg,
};
use corun_record::{AnyDocument, Record, Schedule, Standing, ThreadSweep};
use serde_json::{Value, json};

fn document(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents").join(name);
    serde_json::from_str(&fs::read_to_string(path).expect("it is there")).expect("JSON")
}

pub(crate) fn given(json: &Value) -> InputDocument {
    InputDocument { name: "some.json".to_owned(), text: json.to_string() }
}

/// The run with every sample so many times.
pub(crate) fn multiplied(times: u64) -> Value {
    let mut run = document("run.json");
    let samples = run["samples"].as_array().expect("samples").clone();
    let blocks = run["design"]["blocks"].as_u64().expect("blocks");
    let shifted = (0..times).flat_map(|time| {
        samples.iter().cloned().map(move |mut sample| {
            let block = sample["block"].as_u64().expect("a block");
            sample["block"] = json!(block + time * blocks);
            sample
        })
    });
    run["samples"] = shifted.collect();
    run
}

#[test]
fn a_large_document_is_thinned_and_the_page_says_so() {
    let run = multiplied(2000);
    assert!(run.to_string().len() > 5 * MAX_PAGE);
    let page = page(&[given(&run)]).expect("a page");
    assert!(page.len() < MAX_PAGE, "{} bytes", page.len());
    assert!(page.contains("runs are drawn, evenly by rank"));
    assert!(page.contains("more rows are left out"));
}

#[test]
fn many_documents_share_a_page() {
    let one = given(&multiplied(4));
    let text = page(&vec![one; 12]).expect("a page");
    assert!(text.len() < MAX_PAGE, "{} bytes", text.len());
    assert_eq!(text.matches("<article id=").count(), 12);
    let small = given(&document("threads.json"));
    let error = page(&vec![small; 400]).expect_err("too many");
    assert!(matches!(error, PageError::TooLarge { documents: 400, .. }), "{error}");
}

#[test]
fn what_is_no_document_is_refused_by_name() {
    let of = |text: &str| {
        page(&[InputDocument { name: "x\u{1b}[2J.json".to_owned(), text: text.to_owned() }])
    };
    for text in ["", "no JSON", "[1]", "{}", r#"{"format": "other"}"#, r#"{"format": "corun-run"}"#]
    {
        let error = of(text).expect_err(text).to_string();
        assert!(error.starts_with("x\\u{1b}[2J.json: "), "{error}");
    }
    let newer = r#"{"format": "corun-run", "version": 99}"#;
    assert!(of(newer).expect_err("newer").to_string().contains("found 99"));
}

#[test]
fn pictures_stand_alone_and_hold_no_markup_of_others() {
    let mut run = document("run.json");
    let evil = "<script>alert(1)</script>\u{202e}\u{0}\"'&";
    run["workload"]["name"] = json!(evil);
    run["workload"]["command"] = json!([evil]);
    run["verdicts"][0]["sentence"] = json!(evil);
    run["machine"]["cpu_model"] = json!(evil);
    let pictures = pictures(&[given(&run)]).expect("pictures");
    assert!(pictures.len() > 2);
    for picture in pictures {
        assert!(
            picture.file.starts_with("some-0") && picture.file.ends_with(".svg"),
            "{}",
            picture.file
        );
        let svg = roxmltree::Document::parse(&picture.svg).expect("XML");
        assert_eq!(svg.descendants().filter(|it| it.has_tag_name("script")).count(), 0);
        assert!(!picture.svg.contains("var("), "a variable is left");
        assert!(!picture.svg.contains('\u{202e}') && !picture.svg.contains('\u{0}'));
        assert!(
            !picture.svg.contains("http://") || picture.svg.contains("http://www.w3.org/2000/svg")
        );
    }
}

#[test]
fn a_schedule_has_a_line_a_cpu_and_a_bar_an_interval_that_can_be_seen() {
    let record: Record<Schedule> =
        serde_json::from_value(document("schedule.json")).expect("a schedule");
    let picture = schedule_to_svg(&record.body);
    let timelines = &record.body.timelines;
    let cpus: usize = timelines.iter().map(|it| it.cpus.len()).sum();
    let intervals: Vec<u64> =
        timelines.iter().flat_map(|it| &it.intervals).map(|it| it.end_ns - it.begin_ns).collect();
    let longest = intervals.iter().max().expect("an interval");
    // Shorter ones are bands of shares.
    let long = intervals.iter().filter(|it| **it * 20 > *longest).count();
    assert_eq!(picture.matches(">CPU ").count(), cpus, "{picture}");
    let bars = picture.matches("class=\"busy t").count();
    assert!((long..=intervals.len()).contains(&bars), "{long} {bars}: {picture}");
    assert!(picture.contains("task 8, compiler: 4.60 ms to 404 ms"), "{picture}");
}

#[test]
fn a_sweep_has_a_bar_for_each_candidate_under_its_answer() {
    let sweep: Record<ThreadSweep> =
        serde_json::from_value(document("threads.json")).expect("a sweep");
    let picture = threads_to_svg(&sweep);
    let others = sweep.body.candidates.iter().filter(|it| it.standing != Standing::Chosen).count();
    assert_eq!(picture.matches("bar c6").count(), others, "{picture}");
    assert_eq!(picture.matches("bar c3").count(), 1, "{picture}");
}

/// Where the kernel places the workers, the picture has no empty place, and the ideal line is the same in plot and legend.
#[test]
fn a_sweep_says_what_was_run_and_who_placed_it() {
    let mut sweep = document("threads.json");
    sweep["workload"]["command"] = json!(["./solver", "-j", "{workers}", "a b"]);
    let candidates = sweep["candidates"].as_array_mut().expect("candidates");
    let chosen = candidates.iter_mut().find(|it| it["standing"] == "chosen").expect("a choice");
    for (field, value) in [
        ("id", json!("free@32")),
        ("placement", json!("free@32")),
        ("workers", json!(32)),
        ("cpus", json!([])),
    ] {
        chosen["arm"][field] = value;
    }
    sweep["answer"]["arm"] = json!("free@32");
    let page = page(&[given(&sweep)]).expect("a page");
    assert!(page.contains("<h1 id=\"run1-h\">./solver -j {workers} &#39;a b&#39;</h1>"), "{page}");
    assert!(page.contains("The kernel places the workers of free@32"));
    assert!(page.contains("32 workers, wherever the kernel puts them"));
    assert!(page.contains("class=\"cpu open\""), "the CPUs that it may choose");
    let wide = page.split("data-name=\"workers\"").nth(1).expect("the plot");
    let wide = wide.split("</svg>").next().expect("its first size");
    let classes = wide.split("class=\"").skip(1).filter_map(|it| it.split('"').next());
    let dashed = classes.filter(|it| it.contains("dashed")).count();
    assert_eq!(dashed, 2, "the line and its entry of the legend");
}

/// Comparisons and trends begin with what changed, and show it.
#[test]
fn what_changed_comes_first() {
    let of = |name: &str| page(&[given(&document(name))]).expect("a page");
    let comparison = of("comparison.json");
    let trend = of("trend.json");
    for (page, texts) in [
        (
            &comparison,
            &[
                "<h1 id=\"run1-h\">run8.json against run1.json</h1>",
                "<p class=\"answer bad\">Time of stacked: worse: 1.194 times that of the base",
                "What differs beside the figures",
                "data-name=\"changes\"",
            ][..],
        ),
        (
            &trend,
            &[
                "<p class=\"answer bad\">Throughput of spread: worse, 0.831 times in 8 runs.",
                "data-name=\"trend\"",
                "level 2",
                "kernel: 6.1 became 6.2",
            ],
        ),
    ] {
        for text in texts {
            assert!(page.contains(text), "{text}");
        }
        assert!(!page.contains("<th scope=\"col\">field"), "fields that nobody reads");
    }
}

/// Formats of listings and descriptions, which all have one kind of page.
const LISTINGS: [&str; 13] = [
    "corun-activity",
    "corun-audit-properties",
    "corun-calibration",
    "corun-cpu-sharing",
    "corun-doctor",
    "corun-model",
    "corun-models",
    "corun-runs",
    "corun-scheduling",
    "corun-smt",
    "corun-studies",
    "corun-topology",
    "corun-workloads",
];

/// A document of every format: one that corun wrote, where there is one, else a value of each type.
#[test]
fn every_format_has_a_page() {
    for &format in AnyDocument::FORMATS.iter().chain(&LISTINGS) {
        let own = format!("{format}.json");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents").join(own);
        // Formats with an article of their own have documents; others need no fields.
        let text = match path.exists() {
            true => fs::read_to_string(path).expect("text"),
            false => json!({
                "format": format, "version": 1, "items": [{ "name": "a", "value": 1.5 }, { "name": "b" }],
                "below": { "deeper": { "list": ["x", "y"] }, "yes": true }
            })
            .to_string(),
        };
        let made = page(&[InputDocument { name: format.to_owned(), text }]);
        match made {
            Ok(page) => assert!(page.contains("<main"), "{format}"),
            // A document that this is not, but of a format that is known.
            Err(PageError::Document { error, .. }) => {
                assert!(error.to_string().contains(format), "{format}: {error}");
            }
            Err(other) => panic!("{format}: {other}"),
        }
    }
}

#[test]
fn the_matrix_of_pairs_names_a_workload_and_not_the_command_that_runs_it() {
    let mut workload = document("prediction.json");
    let internal = "kernel-worker";
    workload["command"] = json!(["/corun", internal, "primes"]);
    workload["workload"] = json!({ "name": "primes", "parameters": {}, "workers": 1 });
    let mut pair = document("prediction.json");
    pair["beside"][0]["beside"] = json!([["sort", "file"]]);
    let text = page(&[given(&workload), given(&pair)]).expect("a page");
    let matrix = text.find("Who can share a core").map(|at| &text[at..]).expect("a matrix");
    let matrix = &matrix[..matrix.find("</figure>").expect("its end")];
    assert!(matrix.contains("primes") && matrix.contains("sort file"), "{matrix}");
    assert!(!matrix.contains(internal), "{matrix}");
}
