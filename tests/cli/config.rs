//! Configuration files: their options, their precedence, and `teetap config`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use teetap_kit::binary;
use tempfile::TempDir;

use crate::{
    command_line::{NO_SERVER, json},
    run, teetap,
};

/// The folder of a project, and a folder with the user's configuration.
struct Home {
    _folder: TempDir,
    project: PathBuf,
    user: PathBuf,
}

impl Home {
    fn new(project: &str, user: &str) -> Self {
        let (folder, file) = binary::place("project");
        let (project_folder, home) = (file, folder.path().join("home"));
        fs::create_dir_all(&project_folder).unwrap();
        fs::create_dir_all(home.join("teetap")).unwrap();
        write(&project_folder.join("teetap.toml"), project);
        write(&home.join("teetap/config.toml"), user);
        Self {
            _folder: folder,
            project: project_folder,
            user: home,
        }
    }

    fn teetap(&self, args: &[&str]) -> Command {
        let mut command = teetap();
        command
            .args(args)
            .current_dir(&self.project)
            .env("XDG_CONFIG_HOME", &self.user);
        command
    }
}

fn write(path: &Path, text: &str) {
    if !text.is_empty() {
        fs::write(path, text).unwrap();
    }
}

/// Returns the seed of a short run.
fn seed(command: &mut Command) -> u64 {
    let (stdout, _) = binary::run(command, 0);
    json(stdout.lines().next().unwrap())["seed"].as_u64().unwrap()
}

#[test]
fn flags_win_over_the_environment_that_over_the_project_and_that_over_the_user() {
    let run = ["run", NO_SERVER, "-l", ":0", "--", "true"];
    let with_flag = ["run", NO_SERVER, "-l", ":0", "--seed", "1", "--", "true"];
    let home = Home::new("seed = 3\n", "seed = 4\njson = true\nquiet = true\n");
    assert_eq!(seed(home.teetap(&with_flag).env("TEETAP_SEED", "2")), 1);
    assert_eq!(seed(home.teetap(&run).env("TEETAP_SEED", "2")), 2);
    assert_eq!(seed(&mut home.teetap(&run)), 3);
    let home = Home::new("", "seed = 4\njson = true\n");
    assert_eq!(seed(&mut home.teetap(&run)), 4);
}

#[test]
fn a_command_takes_only_its_own_options_from_a_file() {
    let home = Home::new("listen = \":0\"\nproto = \"0.7\"\nfilter = \"nonsense\"\n", "");
    let (listed, _) = run(&["messages", "sv_chat"], 0);
    assert_eq!(
        binary::run(&mut home.teetap(&["messages", "sv_chat"]), 0).0,
        listed
    );
    let (_, stderr) = binary::run(&mut home.teetap(&["open", "none.pcapng"]), 2);
    assert!(stderr.contains("nonsense"), "{stderr}");
}

#[test]
fn rules_and_lists_come_from_a_file() {
    let home = Home::new(
        "rule = [\"one: log when c2s\", \"two: log when s2c\"]\njson = true\n",
        "",
    );
    let mut command = home.teetap(&["run", NO_SERVER, "-l", ":0", "--", "true"]);
    let (stdout, _) = binary::run(&mut command, 0);
    let summary = json(stdout.lines().last().unwrap());
    let names: Vec<_> = summary["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["name"])
        .collect();
    assert_eq!(names, ["one", "two"], "{summary}");
}

#[test]
fn an_option_on_the_command_line_wins_over_one_of_a_file_that_it_excludes() {
    let home = Home::new("quiet = true\n", "tui = true\n");
    let run = ["run", NO_SERVER, "-l", ":0", "-v", "--", "true"];
    let (_, stderr) = binary::run(&mut home.teetap(&run), 0);
    assert!(stderr.contains("listening on"), "quiet: {stderr}");
    // Without a terminal there is no screen.
    binary::run(&mut home.teetap(&["run", NO_SERVER, "-l", ":0", "--", "true"]), 0);
    let home = Home::new("verbose = 1\nquiet = true\n", "");
    binary::refused(
        &mut home.teetap(&[NO_SERVER]),
        2,
        "teetap.toml:2: 'quiet' cannot be used with 'verbose' of line 1",
    );
}

#[test]
fn a_wrong_file_is_refused_with_file_and_line_before_anything_starts() {
    for (text, fragment) in [
        (
            "\nfiltre = \"c2s\"\n",
            "teetap: teetap.toml:2: unknown key 'filtre'; did you mean 'filter'?",
        ),
        (
            "theme = \"blue\"\n",
            "teetap: teetap.toml:1: invalid value 'blue'",
        ),
        (
            "quiet = 1\n",
            "teetap: teetap.toml:1: invalid value of 'quiet': expected true or false",
        ),
        ("a = [\n", "teetap: teetap.toml:"),
        (
            "allow-remote = true\n",
            "teetap.toml:1: 'allow-remote' cannot be set in the file of a project",
        ),
        (
            "show-secrets = true\n",
            "teetap.toml:1: 'show-secrets' cannot be set in the file of a project",
        ),
        (
            "[keys]\nfreze = \"ctrl-x\"\n",
            "teetap.toml:2: unknown action 'freze'; did you mean 'freeze'?",
        ),
    ] {
        let home = Home::new(text, "");
        for args in [&[NO_SERVER][..], &["open", "x.pcap"], &["config"]] {
            binary::refused(&mut home.teetap(args), 2, fragment);
        }
        // These commands do not depend on the configuration.
        for args in [
            &["--help"][..],
            &["man"],
            &["completions", "bash"],
            &["config", "template"],
        ] {
            binary::run(&mut home.teetap(args), 0);
        }
    }
    let home = Home::new("x = 1\ny = 2\n", "z = 3\n");
    let (_, stderr) = binary::run(&mut home.teetap(&[NO_SERVER]), 2);
    assert_eq!(stderr.lines().count(), 3, "{stderr}");
    assert!(
        stderr.contains("/teetap/config.toml:1: unknown key 'z'"),
        "{stderr}"
    );
}

/// The keys of a project are bound after the user's keys, so they win.
#[test]
fn keys_of_the_project_come_last() {
    let home = Home::new("[keys]\nfreeze = \"ctrl-x\"\n", "[keys]\nfreeze = \"ctrl-y\"\n");
    let (shown, _) = binary::run(&mut home.teetap(&["config", "show"]), 0);
    let (_, keys) = shown.split_once("[keys]\n").unwrap();
    assert_eq!(keys, "freeze = [\"ctrl-y\", \"ctrl-x\"]\n");
}

#[test]
fn config_shows_values_with_their_origin_and_the_paths_of_files() {
    let home = Home::new(
        "filter = \"c2s\"\n",
        "theme = \"light\"\nfilter = \"s2c\"\n[keys]\nfreeze = \"ctrl-x\"\n",
    );
    let (shown, _) = binary::run(home.teetap(&["config", "show"]).env("TEETAP_SEED", "7"), 0);
    for line in [
        "filter = \"c2s\"  # teetap.toml:1",
        "seed = \"7\"  # environment: TEETAP_SEED",
        "color = \"auto\"  # built-in",
        "# write is not set",
        "freeze = [\"ctrl-x\"]",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let themes = shown
        .lines()
        .filter(|line| line.starts_with("theme = \"light\"  # /"));
    assert_eq!(themes.count(), 1, "{shown}");
    assert_eq!(
        binary::run(&mut home.teetap(&["config"]), 0).0.lines().count(),
        shown.lines().count()
    );

    let (paths, _) = binary::run(&mut home.teetap(&["config", "path"]), 0);
    let user = home.user.join("teetap/config.toml");
    assert_eq!(paths, format!("./teetap.toml\n{}\n", user.display()));
    fs::remove_file(&user).unwrap();
    let (paths, _) = binary::run(&mut home.teetap(&["config", "path"]), 0);
    assert!(paths.ends_with("  # does not exist\n"), "{paths}");
    binary::refused(&mut home.teetap(&["config", "nothing"]), 2, "template");
}

/// The file of a project may be written by a stranger.
#[test]
fn config_escapes_hidden_characters() {
    let home = Home::new(
        "rule = \"drop when sv_chat.message == \\\"\\u009b\u{202e}\u{200b}\u{e0041}\\\"\"\n",
        "",
    );
    let (shown, _) = binary::run(&mut home.teetap(&["config"]), 0);
    let line = shown.lines().find(|line| line.starts_with("rule = ")).unwrap();
    assert!(
        line.contains(r"\U0000009b\U0000202e\U0000200b\U000e0041"),
        "{line}"
    );
    // The shown line sets the same value.
    let again = Home::new(&format!("{line}\n"), "");
    let (shown, _) = binary::run(&mut again.teetap(&["config"]), 0);
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn the_template_is_a_file_that_sets_nothing() {
    let (template, _) = run(&["config", "template"], 0);
    let home = Home::new(&template, "");
    let (with, _) = binary::run(&mut home.teetap(&["config"]), 0);
    let (without, _) = binary::run(&mut Home::new("", "").teetap(&["config"]), 0);
    assert_eq!(with, without);
    assert!(template.contains("\n#listen = "), "{template}");
}
