use corun_model::{CoreModel, compare_published};

use super::*;

fn zen4() -> CoreModel {
    corun_model::find("zen4").unwrap()
}

#[test]
fn everything_that_a_model_says_is_shown() {
    let model = zen4();
    let shown = describe_model(&model, &[], 200).split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, citation) in &model.sources {
        assert!(shown.contains(name) && shown.contains(citation), "{name}");
    }
    for (field, reason) in &model.estimates {
        assert!(shown.contains(field) && shown.contains(reason), "{field}");
    }
    for scheduler in &model.back.schedulers {
        assert!(shown.contains(&format!("name {}", scheduler.name)), "{}", scheduler.name);
    }
    for text in
        ["entries 320", "partitioned", "shared (assumed)", "unvalidated", "direction.base 16384"]
    {
        assert!(shown.contains(text), "{text}");
    }
}

#[test]
fn only_what_differs_is_compared() {
    let (model, mut other) = (zen4(), zen4());
    assert_eq!(model_differences(&model, &other), []);
    other.title = "another".to_owned();
    other.back.rob.sharing.source = "elsewhere".to_owned();
    assert_eq!(model_differences(&model, &other), []);
    other.back.rob.entries = 256;
    other.front.op_cache = None;
    let differences = model_differences(&model, &other);
    let rob = differences.iter().find(|it| it.field == "back.rob.entries").unwrap();
    assert_eq!((rob.a.as_deref(), rob.b.as_deref()), (Some("320"), Some("256")));
    let rest = differences.iter().filter(|it| it.field != "back.rob.entries");
    assert!(rest.clone().all(|it| it.field.starts_with("front.op_cache.") && it.b.is_none()));
    assert!(rest.count() > 5);
}

#[test]
fn a_figure_that_differs_or_was_not_checked_is_shown_with_the_reason() {
    let model = zen4();
    let mut compared = compare_published(&model).unwrap();
    compared.truncate(2);
    (compared[0].modelled, compared[0].difference) = (Some(1.0), Some("for a test".to_owned()));
    compared[1].place = None;
    let shown = describe_model(&model, &compared, 200);
    let [rob, half] = [&compared[0], &compared[1]];
    let differing = format!(
        "{}: published {} ({}), model 1; for a test",
        rob.figure, rob.published, rob.source
    );
    assert!(shown.contains(&differing), "{shown}");
    let unchecked = format!("{}: {} ({})", half.figure, half.published, half.source);
    assert!(shown.contains(&unchecked), "{shown}");
    assert!(
        shown.contains("unvalidated: it agrees with 1 of 2 published figures and differs from 1")
    );
}
