//! Names of runs, and documents that are kept once.

use std::ops::ControlFlow;

use corun_record::Document;
use corun_store::{Added, Filter, FirstAnswer, Origin, RunKind, StoreError};

use crate::runs::{Folder, origin, run};

#[test]
fn visitors_are_given_the_newest_first_until_they_have_enough() {
    let folder = Folder::new();
    let mut store = folder.store();
    for day in 1..=5 {
        let run = run(&format!("2026-11-0{day}T00:00:00Z"), 1);
        store.add(&origin("measure"), &run.to_json()).unwrap();
    }
    let mut days = Vec::new();
    let visited = store.visit(&Filter::default(), |number, run| {
        assert!(store.document(number)?.is_some());
        days.push(run.started[9..10].to_owned());
        Ok(if days.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    });
    visited.unwrap();
    assert_eq!(days, ["5", "4"]);
}

#[test]
fn a_run_is_found_by_id_beginning_tag_and_age() {
    let folder = Folder::new();
    let mut store = folder.store();
    let days = ["2026-11-01T00:00:00Z", "2026-11-03T00:00:00Z", "2026-11-02T00:00:00Z"];
    let ids = days.map(|day| store.add(&origin("measure"), &run(day, 2).to_json()).unwrap().id);
    let found = |store: &corun_store::Store, name: &str| {
        let number = store.find(name, RunKind::Finished)?;
        Ok::<_, StoreError>(store.listed(number)?.id)
    };
    for id in &ids {
        assert_eq!(&found(&store, id).unwrap(), id);
        // A beginning that no other has, however the ids turned out.
        let others = ids.iter().filter(|it| it != &id);
        let differs = |length: &usize| others.clone().all(|it| it[..*length] != id[..*length]);
        let length = (4..=8).find(differs).unwrap();
        assert_eq!(&found(&store, &id[..length]).unwrap(), id);
        assert!(matches!(found(&store, &id[..3]), Err(StoreError::NoRun { .. })));
    }
    assert_eq!(found(&store, "last").unwrap(), ids[1]);
    assert_eq!(found(&store, "last~1").unwrap(), ids[2]);
    assert_eq!(found(&store, "last~2").unwrap(), ids[0]);
    assert!(matches!(found(&store, "last~3"), Err(StoreError::NoRun { .. })));

    // The newest that has a tag, which may look like an id.
    for index in [0, 2] {
        let number = store.find(&ids[index], RunKind::Finished).unwrap();
        store.tag(number, &["before".to_owned(), "beef".to_owned()], true).unwrap();
    }
    assert_eq!(found(&store, "before").unwrap(), ids[2]);
    assert_eq!(found(&store, "beef").unwrap(), ids[2]);
    let number = store.find(&ids[2], RunKind::Finished).unwrap();
    store.tag(number, &["before".to_owned()], false).unwrap();
    assert_eq!(found(&store, "before").unwrap(), ids[0]);
    let error = found(&store, "befor").unwrap_err();
    assert!(
        matches!(&error, StoreError::NoRun { nearest: Some(it), .. } if it == "before"),
        "{error}"
    );
    for wrong in ["", "last", "last~3", "a b", "a/b", "-x", "x*", "a#b", "a.json", "\u{1b}"] {
        let refused = store.tag(number, &["good".to_owned(), wrong.to_owned()], true);
        assert!(matches!(refused, Err(StoreError::Tag { .. })), "{wrong:?}");
    }
    assert_eq!(store.listed(number).unwrap().tags, ["beef"], "all tags or none");
}

#[test]
fn a_beginning_of_several_ids_is_ambiguous() {
    let folder = Folder::new();
    let mut store = folder.store();
    for second in 10..12 {
        let started = format!("2026-11-01T00:00:{second}Z");
        store.add(&origin("measure"), &run(&started, 2).to_json()).unwrap();
    }
    let alike = "UPDATE runs SET id = 'abcd' || substr(id, 5)";
    rusqlite::Connection::open(store.path()).unwrap().execute(alike, []).unwrap();
    let error = store.find("abcd", RunKind::Finished).unwrap_err();
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error}");
}

#[test]
fn the_same_document_is_kept_once_however_it_is_indented() {
    let folder = Folder::new();
    let mut store = folder.store();
    let document = run("2026-11-01T00:00:00Z", 2).to_json();
    let first = store.add(&origin(""), &document).unwrap();
    let compact: serde_json::Value = serde_json::from_str(&document).unwrap();
    let again = store.add(&origin(""), &compact.to_string()).unwrap();
    assert_eq!((first.is_new, again), (true, Added { id: first.id.clone(), is_new: false }));
    assert_eq!(store.document_of(&first.id).unwrap(), document);
}

#[test]
fn filters_say_which_runs() {
    let folder = Folder::new();
    let mut store = folder.store();
    let first = store.add(&origin("measure"), &run("2026-11-01T00:00:00Z", 2).to_json()).unwrap();
    let second =
        store.add(&origin("bench run"), &run("2026-11-02T00:00:00Z", 2).to_json()).unwrap();
    let number = store.find(&second.id, RunKind::Finished).unwrap();
    store.tag(number, &["new".to_owned()], true).unwrap();
    let ids = |filter: Filter| {
        let runs = store.list(&filter).unwrap();
        runs.into_iter().map(|(_, run)| run.id).collect::<Vec<_>>()
    };
    let some = |text: &str| Some(text.to_owned());
    let all = [second.id, first.id];
    assert_eq!(ids(Filter::default()), all);
    assert_eq!(ids(Filter { limit: Some(1), ..Filter::default() }), all[..1]);
    // The document knows the host better than the machine that it was kept on.
    assert_eq!(ids(Filter { host: some("f*"), ..Filter::default() }), all);
    assert!(ids(Filter { host: some("box"), ..Filter::default() }).is_empty());
    assert_eq!(ids(Filter { workload: some("sort"), ..Filter::default() }), all);
    assert!(ids(Filter { workload: some("sor"), ..Filter::default() }).is_empty());
    assert_eq!(ids(Filter { command: some("bench"), ..Filter::default() }), all[..1]);
    assert_eq!(ids(Filter { tag: some("new"), ..Filter::default() }), all[..1]);
    assert_eq!(ids(Filter { since: some("2026-11-02T00:00:00Z"), ..Filter::default() }), all[..1]);
    assert_eq!(ids(Filter { until: some("2026-11-02T00:00:00Z"), ..Filter::default() }), all[1..]);
    assert_eq!(store.count(&Filter { limit: Some(1), ..Filter::default() }).unwrap(), 2);
}

#[test]
fn what_is_deleted_is_gone_with_its_figures() {
    let folder = Folder::new();
    let mut store = folder.store();
    let added = store.add(&origin("measure"), &run("2026-11-01T00:00:00Z", 2).to_json()).unwrap();
    let number = store.find(&added.id, RunKind::Finished).unwrap();
    store.note(number, "odd").unwrap();
    assert_eq!(store.listed(number).unwrap().note, "odd");
    store.delete(&[number]).unwrap();
    assert!(store.find(&added.id, RunKind::Finished).is_err());
    let again = store.add(&origin("measure"), &run("2026-11-01T00:00:00Z", 2).to_json()).unwrap();
    assert!(again.is_new);
}

#[test]
fn a_document_and_its_tags_are_kept_together_or_not_at_all() {
    let folder = Folder::new();
    let mut store = folder.store();
    let document = run("2026-11-01T00:00:00Z", 2).to_json();
    let tagged = Origin { tags: vec!["node:n1".to_owned()], ..origin("measure") };
    let connection = rusqlite::Connection::open(folder.file("corun.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TRIGGER no_tags BEFORE INSERT ON tags BEGIN SELECT RAISE(ABORT, 'disk full'); END",
        )
        .unwrap();
    let answer =
        |document| FirstAnswer { only: "task:1".to_owned(), origin: tagged.clone(), document };
    assert!(store.add_first(&[answer(&document)]).is_err());
    assert_eq!(store.count(&Filter::default()).unwrap(), 0);
    connection.execute_batch("DROP TRIGGER no_tags").unwrap();
    let first = store.add_first(&[answer(&document)]).unwrap().remove(0);
    assert!(first.is_new);
    let (_, kept) = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!(kept.tags, ["node:n1", "task:1"]);
    // Another answer to the same question is not kept.
    let other = run("2026-11-02T00:00:00Z", 2).to_json();
    let again = store.add_first(&[answer(&other), answer(&document)]).unwrap();
    assert_eq!(again, [0, 1].map(|_| Added { id: first.id.clone(), is_new: false }));
    assert_eq!(store.count(&Filter::default()).unwrap(), 1);
    // A document that is kept already gets the tags, too.
    store.add(&Origin { tags: vec!["again".to_owned()], ..origin("measure") }, &document).unwrap();
    let (_, kept) = store.list(&Filter::default()).unwrap().remove(0);
    assert_eq!(kept.tags, ["again", "node:n1", "task:1"]);
}
