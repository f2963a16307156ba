//! Pages in a real browser: they ask for nothing, say what the documents say, and can be read by everyone.
//!
//! `CORUN_SCREENSHOTS=DIR` keeps a picture of each page at three widths, light and dark, for looking at.

mod checks;
mod driver;

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use corun_page::{InputDocument, page};
use corun_record::{Document, Metric, Run};
use serde_json::{Value, json};

use driver::Browser;

const WIDTHS: [u32; 3] = [360, 768, 1280];
const SCHEMES: [&str; 2] = ["light", "dark"];

/// The documents of the tests, by their names.
fn documents() -> Vec<InputDocument> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/documents");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .expect("there are documents")
        .map(|entry| entry.expect("a file").path())
        .collect();
    paths.sort();
    let given = |path: &PathBuf| InputDocument {
        name: path.file_name().expect("a name").to_string_lossy().into_owned(),
        text: fs::read_to_string(path).expect("text"),
    };
    paths.iter().map(given).collect()
}

fn document(name: &str) -> InputDocument {
    documents().into_iter().find(|it| it.name == name).expect("it is there")
}

/// The page of some documents as a file.
fn written(folder: &tempfile::TempDir, name: &str, documents: &[InputDocument]) -> PathBuf {
    let path = folder.path().join(format!("{name}.html"));
    fs::write(&path, page(documents).expect("a page")).expect("it is written");
    path
}

/// Findings of a check, a line each.
fn lines(found: &Value) -> Vec<String> {
    let all = found.as_array().unwrap_or_else(|| panic!("expected a list, found {found}"));
    all.iter().map(|it| it.as_str().expect("a line").to_owned()).collect()
}

#[test]
fn two_runs_are_printed_on_four_sides() {
    let Some(browser) = Browser::start("print") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for other in ["prediction.json", "run.json", "study.json", "threads.json"] {
        let two = [document("run.json"), document(other)];
        browser.open(&written(&folder, other, &two));
        let sides = browser.printed_sides();
        assert!((1..=4).contains(&sides), "{other}: {sides}");
    }
}

#[test]
fn every_page_can_be_read_by_everyone_and_asks_for_nothing() {
    let Some(browser) = Browser::start("pages") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let shots = std::env::var_os("CORUN_SCREENSHOTS").map(PathBuf::from);
    let mut pages: Vec<(String, PathBuf)> = documents()
        .into_iter()
        .map(|it| (it.name.clone(), written(&folder, &it.name.clone(), &[it])))
        .collect();
    pages.push(("all".to_owned(), written(&folder, "all", &documents())));
    let mut wrong = Vec::new();
    browser.log("performance");
    for (name, path) in &pages {
        for scheme in SCHEMES {
            for width in WIDTHS {
                browser.look(width, scheme);
                browser.open(path);
                let mut say = |found: Vec<String>| {
                    wrong.extend(
                        found.iter().map(|it| format!("{name}, {scheme}, {width} px: {it}")),
                    );
                };
                say(lines(&browser.run(checks::OVERFLOW)));
                say(lines(&browser.run(checks::LABELS)));
                if let Some(shots) = &shots {
                    let shot = STANDARD.decode(browser.screenshot()).expect("base64");
                    fs::write(shots.join(format!("{name}-{scheme}-{width}.png")), shot)
                        .expect("kept");
                }
                if width == WIDTHS[1] {
                    // What is folded is checked, too.
                    browser.run("document.querySelectorAll('details').forEach((it) => { it.open = true; });");
                    say(lines(&browser.run(checks::CONTRAST)));
                    say(lines(&browser.run(checks::NAMES)));
                }
            }
        }
        let said = browser.log("browser");
        wrong.extend(said.iter().map(|it| format!("{name}: the console says {}", it["message"])));
    }
    let asked: Vec<String> = browser
        .log("performance")
        .iter()
        .filter_map(|entry| {
            let entry: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &entry["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            let url = message["params"]["request"]["url"].as_str()?;
            let is_own = url.starts_with("file:///") && url.ends_with(".html");
            (is_request && !is_own && !url.starts_with("data:")).then(|| url.to_owned())
        })
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn figures_in_the_page_are_those_of_the_document() {
    let Some(browser) = Browser::start("figures") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let given = document("run.json");
    let run = Run::from_json(&given.text).expect("a run");
    browser.open(&written(&folder, "run", &[given]));
    let text = browser.run("return document.querySelector('.answer').textContent;");
    // No line ends between a number and its unit.
    let text = text.as_str().map(|it| it.replace('\u{a0}', " "));
    assert_eq!(text.as_ref(), Some(&run.verdicts[0].sentence));
    for arm in run.arms.iter().filter(|arm| arm.twin_of.is_none()) {
        let twin = run.arms.iter().find(|it| it.twin_of.as_ref() == Some(&arm.id));
        let is_own = |id: &String| *id == arm.id || twin.is_some_and(|twin| twin.id == *id);
        let samples = run.samples.iter().filter(|sample| is_own(&sample.arm)).count();
        let own = browser.run(&format!(
            "return [...document.querySelectorAll('figure[data-name=speed] svg.wide .dot > title')]
                .filter((it) => it.textContent.startsWith('{}, ')).length;",
            arm.id
        ));
        assert_eq!(own.as_u64(), Some(samples as u64), "{}", arm.id);
        let seen = run.observation(Metric::Throughput, &arm.id).expect("it is observed");
        let scale = corun_report::parts::figures::RateScale::of(&run);
        let cell = browser.run(&format!(
            "const row = [...document.querySelectorAll('figure[data-name=speed] tbody tr')]
                .find((it) => it.cells[0].textContent === '{}');
             return [...row.cells].map((it) => it.textContent);",
            arm.id
        ));
        let wanted = scale.show(seen.estimate.value);
        assert!(lines(&cell).contains(&wanted), "{wanted}: {cell}");
        // The bar is as long as its value: pixels are proportional to values.
        let length = browser.run(&format!(
            "const bar = [...document.querySelectorAll('figure[data-name=speed] svg.wide .bar')]
                .find((it) => it.textContent.trim().startsWith('{}: '));
             return Number(bar.getAttribute('width'));",
            arm.id
        ));
        let all = browser.run(
            "return [...document.querySelectorAll('figure[data-name=speed] svg.wide .bar')]
                .map((it) => Number(it.getAttribute('width')));",
        );
        let values = run.arms.iter().filter(|arm| arm.twin_of.is_none());
        let values: Vec<f64> = values
            .map(|arm| run.observation(Metric::Throughput, &arm.id).expect("seen").estimate.value)
            .collect();
        let sum: f64 = all.as_array().expect("bars").iter().filter_map(Value::as_f64).sum();
        let share = length.as_f64().expect("a length") / sum;
        let wanted = seen.estimate.value / values.iter().sum::<f64>();
        assert!((share - wanted).abs() < 0.005, "{}: {share} {wanted}", arm.id);
    }
}

#[test]
fn tables_sort_and_sections_unfold_by_keyboard() {
    let Some(browser) = Browser::start("sorting") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    browser.open(&written(&folder, "run", &[document("run.json")]));
    let sorted = browser.run(
        "const details = [...document.querySelectorAll('details.section')]
            .find((it) => it.textContent.includes('Every run'));
         details.querySelector('summary').click();
         const table = details.querySelector('table');
         const head = [...table.tHead.rows[0].cells].findIndex((it) => it.textContent === 'time');
         const column = () => [...table.tBodies[0].rows].map((it) => Number(it.cells[head].dataset.value));
         const button = table.tHead.rows[0].cells[head].querySelector('button');
         button.focus(); button.click();
         const up = column();
         const said = table.tHead.rows[0].cells[head].getAttribute('aria-sort');
         button.click();
         return { open: details.open, focus: document.activeElement === button, up, said, down: column() };",
    );
    assert_eq!((&sorted["open"], &sorted["focus"]), (&json!(true), &json!(true)), "{sorted}");
    assert_eq!(sorted["said"], "ascending");
    let numbers = |name: &str| -> Vec<f64> {
        sorted[name].as_array().expect("numbers").iter().filter_map(Value::as_f64).collect()
    };
    let (up, mut down) = (numbers("up"), numbers("down"));
    assert!(up.len() > 3 && up.windows(2).all(|it| it[0] <= it[1]), "{up:?}");
    assert!(up.first() < up.last(), "all are alike: {up:?}");
    down.reverse();
    assert_eq!(up, down);
}

#[test]
fn without_scripts_everything_can_be_read() {
    let Some(browser) = Browser::start("no scripts") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    let path = written(&folder, "run", &[document("run.json")]);
    browser.open(&path);
    browser.devtools("DOM.enable", &json!({}));
    let tree = browser.devtools("DOM.getDocument", &json!({ "depth": 0 }));
    let count = |selector: &str| {
        let query = json!({ "nodeId": tree["root"]["nodeId"], "selector": selector });
        let found = browser.devtools("DOM.querySelectorAll", &query);
        found["nodeIds"].as_array().expect("nodes").len()
    };
    assert_eq!(count("th button"), 0, "the script ran");
    assert!(count("figure svg.wide .bar") > 1);
    assert!(count("details > summary") > 2);
    assert!(count(".answer") > 0);
}

#[test]
fn nothing_in_a_document_becomes_part_of_the_page() {
    let Some(browser) = Browser::start("hostile text") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let evil = "<script>window.evil = 1</script><img src=x onerror=\"window.evil = 1\">'\"&</svg></title>\u{202e}\u{7}";
    for name in ["run.json", "threads.json"] {
        let mut json: Value = serde_json::from_str(&document(name).text).expect("JSON");
        json["workload"]["name"] = json!(evil);
        json["workload"]["command"] = json!([evil, "x"]);
        json["machine"]["cpu_model"] = json!(evil);
        json["caveats"] = json!([{ "kind": "x", "sentence": evil }]);
        let given = InputDocument { name: evil.to_owned(), text: json.to_string() };
        browser.open(&written(&folder, "evil", &[given]));
        let seen = browser.run(
            "return { evil: window.evil ?? 0, scripts: document.scripts.length,
                      images: document.images.length, text: document.body.textContent };",
        );
        assert_eq!(
            (&seen["evil"], &seen["scripts"], &seen["images"]),
            (&json!(0), &json!(1), &json!(0))
        );
        let text = seen["text"].as_str().expect("text");
        assert!(text.contains("<script>window.evil = 1</script>"), "it is shown as it is");
        assert!(!text.contains('\u{202e}') && !text.contains('\u{7}'));
    }
}
