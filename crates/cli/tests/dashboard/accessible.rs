//! The dashboard for those who use keys, a screen reader, a phone, or see colours otherwise; and how much of it there is to load.

use crate::browser::Browser;
use crate::eventually::eventually;
use crate::{origin, server, submit};
use serde_json::{Value, json};
use std::io::Write;

/// Roles that can be used, each of which must have a name.
const USABLE: [&str; 12] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "checkbox",
    "combobox",
    "listbox",
    "progressbar",
    "image",
    "img",
    "navigation",
    "region",
];

/// The parts that a screen reader tells and that have no name.
fn nameless(browser: &mut Browser) -> Vec<Value> {
    let tree = browser.ask("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().unwrap();
    assert!(nodes.len() > 20, "{}", nodes.len());
    let usable = |node: &&Value| {
        node["ignored"] != true
            && USABLE
                .iter()
                .any(|role| node["role"]["value"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(role)))
    };
    let is_named = |node: &&Value| node["name"]["value"].as_str().is_some_and(|name| !name.trim().is_empty());
    nodes.iter().filter(usable).filter(|node| !is_named(node)).cloned().collect()
}

#[test]
fn nothing_is_in_the_way_of_those_who_use_keys_a_screen_reader_a_phone_or_see_colours_otherwise() {
    let server =
        server("accessible", &["--policy", "promise", "--round", "2s", "--fake-gpus", "v100=6,p100=2"]);
    let Some(mut browser) = Browser::open("accessible") else { return };
    for at in 0..8_u32 {
        submit(
            &server,
            &format!("job-{at}"),
            ["vision", "speech", "robots"][at as usize % 3],
            1 + at % 3,
            20 + 400 * (at % 2),
        );
    }
    assert_eq!(server.post("/v1/nodes/0/drain", &server.admin, &Value::Null).status, 200);
    server.post("/v1/whatifs", &server.admin, &json!({"policies": ["las"]}));
    eventually("the what-if has ended", || {
        (server.get("/v1/whatifs/1", &server.admin).json()["state"] == "done").then_some(())
    });
    let round = server.get("/v1/rounds", &server.admin).json()["rounds"][0]["record"].clone();
    let url = origin(&server);
    browser.go(&url);
    browser.until("!!document.querySelector('#token')");
    let audit = include_str!("audit.js");
    let mut troubles = Vec::new();
    let mut look = |browser: &mut Browser, place: &str| {
        let found = browser.value(audit);
        troubles.extend(found.as_array().unwrap().iter().map(|what| format!("{place}: {what}")));
        troubles.extend(nameless(browser).iter().map(|node| format!("{place}: without a name: {node}")));
    };
    look(&mut browser, "sign in");
    browser.sign_in(&url, &server.admin);
    let round = format!("#/rounds/{round}");
    let views = [
        "#/cluster",
        "#/cluster/nodes/0/1",
        "#/jobs",
        "#/jobs/2",
        "#/jobs/1",
        "#/fairness",
        &round,
        "#/whatif",
        "#/whatif/1",
    ];
    for (width, height) in [(1400, 900), (390, 844)] {
        for dark in [false, true] {
            browser.size(width, height);
            browser.dark(dark);
            for view in views {
                browser.view("#/nowhere");
                browser.until("document.querySelector('main').dataset.shown === '#/nowhere'");
                browser.view(view);
                browser.until(&format!("document.querySelector('main').dataset.shown === '{view}'"));
                // Pictures are drawn when they come into sight: all of them now.
                browser.size(width, 6000);
                browser.until("![...document.querySelectorAll('main [aria-busy], #figures:empty')].some(one => one.checkVisibility())");
                browser.size(width, height);
                look(&mut browser, &format!("{view} {width} {}", if dark { "dark" } else { "light" }));
            }
        }
    }
    assert!(troubles.is_empty(), "{}:\n{}", troubles.len(), troubles.join("\n"));
    browser.was_quiet(&url, false);
}

#[test]
fn keys_alone_lead_everywhere_and_the_look_can_be_changed() {
    let server = server("keys", &[]);
    let Some(mut browser) = Browser::open("keys") else { return };
    let url = origin(&server);
    browser.sign_in(&url, &server.admin);
    let press = |browser: &mut Browser, key: &str, code: u32| {
        for kind in ["keyDown", "keyUp"] {
            let text = if key == "Enter" { "\r" } else { "" };
            let event =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            browser.ask("Input.dispatchKeyEvent", &event);
        }
    };
    browser.value("document.activeElement.blur()");
    let mut seen = Vec::new();
    for _ in 0..12 {
        press(&mut browser, "Tab", 9);
        seen.push(
            browser.text(
                "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
            ),
        );
    }
    for name in ["Skip to what is shown", "Evenhand", "Cluster", "Jobs", "Fairness", "What if", "Sign out"] {
        assert!(seen.iter().any(|own| own == name), "{name} is not reached: {seen:?}");
    }
    browser.value("document.querySelector('nav a[href=\"#/jobs\"]').focus()");
    press(&mut browser, "Enter", 13);
    browser.until("location.hash === '#/jobs' && document.querySelector('h1')?.textContent === 'Jobs'");
    let paper = |browser: &mut Browser| browser.text("getComputedStyle(document.body).backgroundColor");
    browser.dark(false);
    let light = paper(&mut browser);
    browser.dark(true);
    let dark = paper(&mut browser);
    assert_ne!(light, dark, "it follows the system");
    let button = "document.querySelector('button[aria-label^=Look]')";
    browser.value(&format!("{button}.click()"));
    assert_eq!(paper(&mut browser), light, "what was chosen counts for more");
    browser.go(&url);
    browser.until("!!document.querySelector('main .panel')");
    assert_eq!(paper(&mut browser), light, "and stays");
    browser.was_quiet(&url, false);
}

#[test]
fn the_first_page_is_small_and_says_what_its_time_was() {
    let server = server("small", &[]);
    submit(&server, "one", "vision", 2, 3000);
    let Some(mut browser) = Browser::open("small") else { return };
    let url = origin(&server);
    browser.sign_in(&url, &server.admin);
    let before = browser.received();
    browser.go(&url);
    browser.until("document.querySelectorAll('.gpu.held').length === 2 && document.querySelectorAll('.figure svg').length >= 2");
    let loaded = browser.received() - before;
    assert!(loaded < 300_000, "{loaded} bytes");
    let times = browser.value(
        "({painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime, update: performance.getEntriesByName('evenhand-update')[0]?.startTime})",
    );
    // How long it took is told and not held to: that is for a machine with nothing else to do.
    let told =
        format!("{loaded} bytes; first paint and first look at the cluster, in milliseconds: {times}\n");
    std::io::stderr().write_all(told.as_bytes()).unwrap();
}
