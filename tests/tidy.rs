//! Reads the repository and holds it to its own rules: rings, registries, words, links, licences.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// All files under a folder with one of these endings, build output left out.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') && !name.starts_with("evenhand-") {
                found.extend(files(&path, endings));
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn metadata(with_dependencies: bool) -> Value {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked"]).current_dir(root());
    if with_dependencies {
        // What other platforms would need is not on this machine.
        command.args(["--offline", "--filter-platform", &host()]);
    } else {
        command.arg("--no-deps");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The platform that this test was built on.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// The ring of a crate: it may use only crates of rings further in.
fn ring(package: &str) -> Option<u8> {
    Some(match package.strip_prefix("evenhand-")? {
        "core" => 0,
        "solve" | "measure" | "graph" => 1,
        "fairness" => 2,
        "policies" | "predict" | "report" | "engine" => 3,
        "sim" | "live" | "train" => 4,
        "kubernetes" => 5,
        "cli" => 6,
        "tests" => 7,
        other => panic!("crate {other} is in no ring: give it one here and in ARCHITECTURE.md"),
    })
}

#[test]
fn dependencies_point_inwards() {
    for package in metadata(false)["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some(own) = ring(name) else { continue };
        for dependency in package["dependencies"].as_array().unwrap() {
            let other = dependency["name"].as_str().unwrap();
            if let Some(ring) = ring(other) {
                // The simulator assembles whole runs, so it may use every part of ring 2; nobody may use a sibling.
                assert!(ring < own, "{name} (ring {own}) uses {other} (ring {ring})");
            }
        }
    }
}

#[test]
fn the_engine_does_not_know_which_world_it_is_in() {
    for path in files(&root().join("crates/engine"), &[".rs", ".toml"]) {
        let text = fs::read_to_string(&path).unwrap();
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        for word in words {
            let other = ["sim", "live", "simulated", "simulation", "simulator", "kubernetes", "slurm"]
                .contains(&word.as_str());
            assert!(!other, "{} says `{word}`", path.display());
        }
    }
}

/// The files of a folder that are parts of a registry.
fn parts(folder: &str, not_parts: &[&str]) -> Vec<String> {
    let names = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let names = names.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    let stems = names.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
    stems.filter(|stem| !not_parts.contains(&stem.as_str())).collect()
}

#[test]
fn every_file_in_a_registry_folder_is_registered() {
    let registries: [(&str, &str, &[&str]); 7] = [
        ("crates/fairness/src/division", "mod.rs", &["mod", "finding", "golden", "over_time", "usable"]),
        (
            "crates/policies/src",
            "lib.rs",
            &["lib", "fill", "gavel_rounds", "horizon", "published", "registry", "view"],
        ),
        ("crates/policies/src/placement", "mod.rs", &["mod", "packets"]),
        ("crates/predict/src", "lib.rs", &["lib", "learned"]),
        ("crates/sim/src/profiles", "mod.rs", &["mod"]),
        ("crates/sim/src/tuners", "mod.rs", &["mod", "history", "rungs"]),
        ("crates/sim/src/traces", "mod.rs", &["mod", "synthetic", "throughputs", "warnings", "write"]),
    ];
    for (folder, list, not_parts) in registries {
        let text = read(&format!("{folder}/{list}"));
        for part in parts(folder, not_parts) {
            assert!(
                text.contains(&format!("{part}::ENTRY")),
                "{folder}/{part}.rs is not registered in {list}"
            );
        }
    }
}

#[test]
fn every_family_of_operators_is_registered() {
    let text = read("crates/graph/src/ops/mod.rs");
    for part in parts("crates/graph/src/ops", &["mod", "data", "work"]) {
        assert!(text.contains(&format!("{part}::OPS")), "crates/graph/src/ops/{part}.rs is not registered");
    }
}

#[test]
fn every_registered_name_is_used_once_and_only_once() {
    let mut names = BTreeSet::new();
    for entry in evenhand_policies::POLICIES {
        assert!(names.insert(entry.name), "two policies are called {}", entry.name);
        assert!(entry.summary.ends_with('.') && !entry.paper.is_empty(), "{} is not described", entry.name);
        let made = entry.make(&evenhand_core::Parameters::default());
        assert!(made.is_ok(), "{} cannot be made with its defaults", entry.name);
    }
    assert!(names.contains(evenhand_policies::DEFAULT_POLICY));
}

#[test]
fn no_link_in_the_documentation_is_dead() {
    let mut checked = 0;
    for path in files(&root(), &[".md"]) {
        let text = fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let file = path.parent().unwrap().join(target);
            assert!(file.exists(), "{} links to {target}, which is not there", path.display());
            checked += 1;
        }
    }
    assert!(checked > 5, "only {checked} links were found: is the documentation still there?");
}

#[test]
fn names_say_what_things_are() {
    let banned = [
        "fn handle_",
        "fn process_",
        "fn do_",
        "mod util;",
        "mod common;",
        "mod helper;",
        "mod misc;",
        "struct Manager",
    ];
    for path in files(&root().join("crates"), &[".rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        for word in banned {
            assert!(!text.contains(word), "{} has `{word}`", path.display());
        }
        let lines = text.lines().count();
        assert!(lines <= 600, "{} has {lines} lines: it holds more than one subject", path.display());
    }
}

#[test]
fn the_project_speaks_of_itself_alone() {
    let private = ["/work/", "/root/", "/home/"];
    for path in files(&root(), &[".md", ".rs", ".toml"]) {
        let text = fs::read_to_string(&path).unwrap();
        let own = path.ends_with("tests/tidy.rs");
        for word in private {
            assert!(own || !text.contains(word), "{} names a path of one machine: {word}", path.display());
        }
    }
}

/// The licences that `deny.toml` allows.
fn allowed_licences() -> BTreeSet<String> {
    let text = read("deny.toml");
    let list = text.split("allow = [").nth(1).unwrap().split(']').next().unwrap();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn everything_built_in_has_an_allowed_licence_and_comes_from_the_registry() {
    let allowed = allowed_licences();
    let packages = metadata(true);
    let packages = packages["packages"].as_array().unwrap();
    assert!(packages.len() > 10);
    for package in packages {
        let name = package["name"].as_str().unwrap();
        if name.starts_with("evenhand-") {
            continue;
        }
        let licence = package["license"].as_str().unwrap_or("none").replace('/', " OR ");
        // All sides of an AND are needed; of an OR, one is enough.
        let fits = licence.split(" AND ").all(|part| {
            let part = part.trim_matches(['(', ')', ' ']);
            part.split(" OR ").any(|choice| allowed.contains(choice.trim_matches(['(', ')', ' '])))
        });
        assert!(fits, "{name} is under {licence}");
        let source = package["source"].as_str().unwrap_or("");
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        assert!(
            !["cmake", "bindgen", "protobuf-src"].contains(&name),
            "{name} needs tools that users do not have"
        );
    }
}
