//! Job files, and how what is wrong in them is told.

use crate::batches::file;
use crate::phases;
use crate::service::{Folder, Server};

#[test]
fn yaml_says_what_toml_says() {
    let folder = Folder::new("submit-yaml");
    let server = Server::start(&folder.0, &[]);
    let text = "# a job\nname: n\ntenant: vision\ngpus: 2\nargv: [sh, -c, 'echo $SEED']\nenvironment:\n  SEED: '7'\nlimits:\n  open_files: 64\n";
    let path = file(&folder.0, "job.yaml", text);
    assert_eq!(server.says(&["submit", &path]), "job 1\n");
    server.until_queue_is_empty();
    assert_eq!(
        (server.says(&["output", "n"]), phases(&server)),
        ("7\n".to_owned(), vec!["finished".to_owned()])
    );
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_line() {
    let folder = Folder::new("submit-files-wrong");
    let server = Server::start(&folder.0, &[]);
    for (name, text, expected) in [
        ("a.yaml", "argv: [a]\nsteps: .nan\n", "line 2: steps is not a number"),
        ("b.yml", "argv: [a]\nsteps_per_second: -.inf\n", "line 2: steps_per_second is not a number"),
        ("c.yaml", "argv: [a]\n\ngpus: two\n", "line 3: gpus: invalid type"),
        ("d.yaml", "argv: [a]\ngpu: 2\n", "line 2: gpu: unknown field `gpu`"),
        ("e.yaml", "argv: [a\ngpus: 2\n", "line "),
        ("f.yaml", "argv: [a]\ngpus: 1\ngpus: 2\n", "line 3"),
        ("g.yaml", "- argv\n", "line 1"),
        ("h.toml", "argv = [\"a\"]\ngpu = 2\n", "line 2: gpu: unknown field `gpu`"),
        ("i.toml", "argv = [\"a\"]\nsteps = nan\n", "line 2: steps is not a number"),
        ("j.toml", "argv = [\"a\"]\n[limits]\nfiles = 3\n", "line 3: limits.files: unknown field `files`"),
        (
            "k.toml",
            "argv = [\"a\"]\n[limits]\nopen_files = -1\n",
            "line 3: limits.open_files: invalid value: integer `-1`",
        ),
        ("m.toml", "argv = [\"a\"]\n[limit]\nopen_files = 3\n", "line 2: limit: unknown field `limit`"),
        (
            "n.toml",
            "argv = [\"a\"]\ngpus = 1\n[environment]\ngpus = 3\n",
            "line 4: environment.gpus: invalid type: integer `3`",
        ),
        ("o.yaml", "argv: [a]\nlimits:\n  open_files: -1\n", "line 3: limits.open_files: invalid value"),
        ("l.yaml", "gpus: two\nargv: [true]\n", "line 2: argv: invalid type: boolean `true`"),
        ("k.toml", "argv = [\n", "line "),
        ("l.yaml", "gpus: 1\n", "what is to run?"),
    ] {
        let path = file(&folder.0, name, text);
        let (code, message) = server.refuses(&["submit", &path]);
        assert!(code == 2 && message.contains(expected) && message.contains(name), "{name}: {message}");
    }
    let (code, message) = server.refuses(&["submit", "nowhere.yaml"]);
    assert!(code == 2 && message.contains("cannot be read"), "{message}");
}
