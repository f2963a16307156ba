//! `corun models`: cores as data, listed, described, checked and compared.

use corun_record::{Document, ModelDescription, ModelList, Record};
use serde_json::Value;

use crate::common::{Outcome, Scratch, corun};

fn of(arguments: &[&str]) -> Outcome {
    Outcome::of(corun(["models"]).args(arguments))
}

#[test]
fn every_model_is_listed_described_and_right() {
    let listed = of(&["list", "--json=-"]);
    assert_eq!((listed.exit, listed.errors.as_str()), (Some(0), ""));
    let list = Record::<ModelList>::from_json(&listed.output).unwrap().body;
    let names: Vec<&str> = list.models.iter().map(|model| model.name.as_str()).collect();
    for model in &list.models {
        let figures = model.figures;
        assert_eq!(figures.published, figures.checked + figures.unchecked, "{model:?}");
        assert!(figures.agree + figures.differ <= figures.published, "{model:?}");
        assert!(!(figures.differ > 0 && model.is_validated), "{model:?}");
    }
    let cores = ["netburst-xeon-mp", "ivy-bridge", "coffee-lake", "zen2", "zen3", "zen4", "zen5"];
    for core in cores.into_iter().chain(["little-smt4"]) {
        assert!(names.contains(&core), "{core}");
    }
    let table = of(&["list"]).output;
    for name in names {
        assert!(table.contains(&format!("\n {name} ")), "{table}");
        let shown = of(&["show", name]);
        assert_eq!((shown.exit, shown.errors.as_str()), (Some(0), ""));
        assert!(shown.output.starts_with(&format!("{name}: ")), "{}", shown.output);
        let checked = of(&["check", name]);
        assert_eq!(checked.exit, Some(0));
        assert!(checked.output.starts_with(&format!("{name}: right; ")), "{}", checked.output);
    }
}

#[test]
fn a_model_is_written_as_json_with_its_version() {
    let shown = of(&["show", "zen4", "--json=-"]);
    let model: Value = serde_json::from_str(&shown.output).unwrap();
    assert_eq!((&model["format"], &model["version"]), (&"corun-model".into(), &1.into()));
    assert_eq!(model["name"], "zen4");
    assert_eq!(model["back"]["rob"]["sharing"]["policy"], "partitioned");
}

/// True if a line that begins with the resource of this path says its value.
fn is_shown(text: &str, path: &str, value: &str) -> bool {
    let (resource, rest) = path.split_once('.').unwrap_or((path, ""));
    // Of several resources of a name each has a line, and none its number.
    let rest = rest.trim_start_matches(|it: char| it.is_ascii_digit()).trim_start_matches('.');
    let expected = match rest {
        "sharing.cap" => format!("at most {value}"),
        "sharing.assumed" if value == "yes" => "(assumed)".to_owned(),
        "sharing.assumed" => String::new(),
        "source" | "sharing.source" | "sharing.policy" => value.to_owned(),
        rest => format!("{rest} {value}").trim().to_owned(),
    };
    let begin = format!(" {} ", resource.replace('_', " "));
    text.lines().any(|line| line.starts_with(&begin) && line.contains(&expected))
}

/// Every figure of a model's file stands in a line that names its resource, and no line is too long.
#[test]
fn every_figure_of_every_model_is_shown() {
    let list = Record::<ModelList>::from_json(&of(&["list", "--json=-"]).output).unwrap().body;
    for listed in list.models {
        let json = of(&["show", &listed.name, "--json=-"]).output;
        let model = Record::<ModelDescription>::from_json(&json).unwrap().body;
        // So wide that each resource is one line.
        let wide = corun_report::describe_model(&model, 20_000);
        for group in [&model.front, &model.back, &model.memory, &model.hierarchy] {
            for (path, value) in group.leaves().iter().filter(|(_, value)| !value.is_empty()) {
                assert!(is_shown(&wide, path, value), "{}: {path} {value}\n{wide}", listed.name);
            }
        }
        for (name, text) in model.sources.iter().chain(&model.estimates) {
            assert!(wide.contains(&format!("{name}: {text}")), "{name}");
        }
        for columns in [80, 60] {
            let narrow = corun_report::describe_model(&model, columns);
            let longest = narrow.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= columns.into(), "{columns}: {longest}");
        }
    }
}

#[test]
fn two_models_are_compared_where_they_differ() {
    let same = of(&["diff", "zen4", "zen4"]);
    assert_eq!((same.exit, same.output.as_str()), (Some(0), "zen4 and zen4 are the same core.\n"));
    let differing = of(&["diff", "zen3", "zen4", "--json=-"]);
    let json: Value = serde_json::from_str(&differing.output).unwrap();
    let differences = json["differences"].as_array().unwrap();
    let rob = differences.iter().find(|it| it["field"] == "back.rob.entries").unwrap();
    assert_eq!((&rob["a"], &rob["b"]), (&"256".into(), &"320".into()));
    assert!(differences.iter().all(|it| it["a"] != it["b"]));
    let table = of(&["diff", "zen3", "zen4"]).output;
    assert!(table.contains("back.rob.entries"), "{table}");
}

#[test]
fn a_file_of_the_users_is_a_model_and_unvalidated() {
    let scratch = Scratch::new();
    let file = scratch.file("mine.toml");
    let zen4 = corun_testing::repository().join("models/zen4.toml");
    std::fs::copy(zen4, &file).unwrap();
    let file = file.to_str().unwrap();
    let shown = of(&["show", file]);
    assert_eq!(shown.exit, Some(0));
    assert!(shown.output.starts_with("mine: ") && shown.output.contains("\nunvalidated: "));
    let differing = of(&["diff", file, "zen4"]);
    assert_eq!(differing.output, "mine and zen4 are the same core.\n");
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let scratch = Scratch::new();
    let file = scratch.file("wrong.toml");
    // A model that stays as it is.
    let example = corun_testing::repository().join("fuzz/corpus/models/right");
    let text = std::fs::read_to_string(example).unwrap();
    let text = text.replace("entries = 224", "entries = 225").replace("\"ALU1\"", "\"ALU0\"");
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let checked = of(&["check", "zen4", file]);
    assert_eq!(checked.exit, Some(1));
    let (right, wrong) = checked.output.split_once('\n').unwrap();
    assert!(right.starts_with("zen4: right; "), "{right}");
    let answers = [
        of(&["show", "zen6"]).reported(scratch.path()),
        of(&["diff", "zen4", scratch.file("none.toml").to_str().unwrap()]).reported(scratch.path()),
        of(&["show", file]).reported(scratch.path()),
        wrong.replace(&scratch.path().display().to_string(), "FOLDER"),
    ];
    insta::assert_snapshot!(answers.join("\n"));
}
