//! Live games through the built binary: its output about every message, checked by itself and against the oracle.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{
    BigMap, Client, DdnetServer, PATIENCE, Player, Server, Teetap, TeeworldsServer, entered, left, turn,
};

use super::compare::Tally;
use super::output;

use crate::TEETAP;

/// Bytes of the map that clients must download.
const MAP: usize = 96 << 10;
/// Options that show everything, including bytes and secrets.
const ALL: [&str; 2] = ["-vv", "--show-secrets"];

/// A server, its proxy and its players.
struct Game<S> {
    server: S,
    teetap: Teetap,
    players: Vec<Box<dyn Player>>,
    /// Number of lines printed so far.
    lines: usize,
}

/// A step: the number of a player, or `None` for the server, and a console line.
type Step = (Option<usize>, &'static str);

/// Waits for some snapshots: a client acts on its last view, and a client of 0.7.5 once crashed right after a map
/// change.
const PAUSE: Step = (None, "");

impl<S: Server> Game<S> {
    fn open(server: S) -> Result<Self> {
        let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &ALL)?;
        Ok(Self {
            server,
            teetap,
            players: Vec::new(),
            lines: 0,
        })
    }

    fn sit(&mut self, client: Client, name: &str) -> Result<()> {
        self.players.push(client.join(name, self.teetap.listen())?);
        entered(&self.server, name)
    }

    /// Executes each step after the previous one has reached the server, which a later vital chat line confirms.
    fn play(&mut self, steps: &[Step]) -> Result<()> {
        for (who, line) in steps {
            if line.is_empty() {
                thread::sleep(Duration::from_millis(500));
                continue;
            }
            let Some(player) = who else {
                self.server.command(line)?;
                continue;
            };
            let player = self.players.get_mut(*player).context("there is no such player")?;
            player.command(line)?;
            self.lines += 1;
            let mark = self.server.log().mark();
            player.command(&format!("say line {}", self.lines))?;
            let line = format!("chat.*: line {}$", self.lines);
            self.server.log().wait_after(mark, &line, PATIENCE)?;
        }
        Ok(())
    }

    /// Lets all players enter the world of another map.
    fn travel(&mut self, map: &str) -> Result<()> {
        let mark = self.server.log().mark();
        self.server.command(&format!("change_map {map}"))?;
        for id in 0..self.players.len() {
            let entrance = format!(r"player has entered the game\. ClientID={id} ");
            self.server.log().wait_after(mark, &entrance, PATIENCE)?;
        }
        self.play(&[(Some(0), "say here again"), PAUSE, PAUSE])
    }

    /// Repeats the steps and a map change for the length of a game.
    fn rounds(&mut self, steps: &[Step], begun: Instant) -> Result<()> {
        for map in ["ctf1", "dm2"].into_iter().cycle() {
            self.play(steps)?;
            self.travel(map)?;
            if begun.elapsed() >= duration() {
                break;
            }
        }
        Ok(())
    }

    /// Lets all players quit; returns the output of the proxy.
    fn end(mut self) -> Result<Vec<Value>> {
        for player in &mut self.players {
            player.quit()?;
            left(&self.server, player.name())?;
        }
        self.server.stop()?;
        let objects = self.teetap.stop()?;
        let lost = objects.last().and_then(|summary| summary.get("lost"));
        ensure!(lost == Some(&Value::from(0)), "lost: {:?}", objects.last());
        Ok(objects)
    }
}

/// Returns the minimum length of a game.
fn duration() -> Duration {
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    Duration::from_secs(if is_long { 180 } else { 42 })
}

/// Checks that every message has a name, every oddity an explanation, the oracle agrees, and all wanted messages
/// occurred.
fn check(what: &str, objects: &[Value], wanted: &[&str]) -> Result<()> {
    let datagrams = output::datagrams(what, objects)?;
    output::check(objects)?;
    let mut tally = Tally::default();
    tally.compare(&datagrams)?;
    tally.report(what)?;
    tally.verdict()?;
    let missing = WANTED.iter().chain(wanted).filter(|name| {
        let seen = tally.names.keys().chain(tally.only_ours.keys());
        let excused = tally.exceptions.keys();
        !seen
            .chain(excused)
            .any(|label| label.split([' ', ':', '.']).any(|word| word == **name))
    });
    let missing: Vec<_> = missing.collect();
    ensure!(
        missing.is_empty(),
        "never seen: {missing:?}; seen: {:?}",
        tally.names.keys()
    );
    Ok(())
}

/// The messages that both games must contain.
const WANTED: [&str; 25] = [
    "cl_say",
    "sv_chat",
    "cl_emoticon",
    "sv_emoticon",
    "cl_kill",
    "sv_kill_msg",
    "cl_set_team",
    "cl_set_spectator_mode",
    "cl_vote",
    "sv_vote_option_list_add",
    "sv_broadcast",
    "sv_motd",
    "sv_tune_params",
    "rcon_auth",
    "rcon_cmd",
    "rcon_line",
    "rcon_cmd_add",
    "map_change",
    "map_data",
    "request_map_data",
    "snap_single",
    "input",
    "input_timing",
    "enter_game",
    "close",
];

const SEVEN_STEPS: [Step; 32] = [
    (Some(0), "say_team to my team"),
    (Some(0), "emote 3"),
    (None, "force_vote option talk because"),
    (Some(0), "vote yes"),
    (Some(0), "+weapon1"),
    (Some(0), "+fire"),
    (Some(0), "+weapon2"),
    (Some(0), "+fire"),
    (Some(0), "+hook"),
    (Some(0), "+jump"),
    (Some(0), "rcon_auth wrong-rcon"),
    (Some(0), "rcon_auth right-rcon"),
    (Some(0), "rcon status"),
    (Some(0), "rcon tune gravity 0.4"),
    (Some(0), "rcon tune_reset"),
    (Some(0), "rcon logout"),
    (Some(0), "kill"),
    (None, "broadcast to everybody"),
    (None, "say from the server"),
    (Some(0), "team -1"),
    PAUSE,
    (Some(0), "spectate_next"),
    (Some(0), "spectate_previous"),
    (Some(0), "team 0"),
    PAUSE,
    (Some(0), "ready_change"),
    (Some(0), "player_color_body 1000"),
    (None, "swap_teams"),
    (None, "shuffle_teams"),
    (None, "restart"),
    (None, "add_vote more say more"),
    (None, "remove_vote more"),
];

#[test]
fn a_0_7_server() -> Result<()> {
    let _turn = turn::shared()?;
    let map = BigMap::seven(MAP)?;
    let settings = [
        &BigMap::setting()[..],
        "add_vote talk say voted",
        "sv_gametype tdm",
    ];
    let server = TeeworldsServer::start_with(&settings, |data| map.write_into(&data.join("maps")))?;
    let mut game = Game::open(server)?;
    let begun = Instant::now();
    game.sit(Client::Seven, "speaker")?;
    game.sit(Client::Offscreen, "listener")?;
    game.rounds(&SEVEN_STEPS, begun)?;
    check(
        "a 0.7 server",
        &game.end()?,
        &[
            "sv_team",
            "sv_game_msg",
            "sv_vote_option_add",
            "sv_vote_option_remove",
            "snap_empty",
            "rcon_auth_off",
        ],
    )
}

const SIX_STEPS: [Step; 38] = [
    (Some(0), "say_team to my team"),
    (Some(0), "emote 3"),
    (Some(2), "emote 5"),
    (Some(0), "callvote option talk because"),
    (Some(1), "vote yes"),
    (Some(0), "+weapon1 1"),
    (Some(0), "+fire 1"),
    (Some(0), "+fire 0"),
    (Some(0), "+weapon2 1"),
    (Some(0), "+fire 1"),
    (Some(0), "+fire 0"),
    (Some(1), "+hook 1"),
    (Some(1), "+jump 1"),
    (Some(1), "+hook 0"),
    (Some(1), "+jump 0"),
    (Some(2), "run 1"),
    (Some(2), "run 0"),
    (Some(0), "rcon_auth wrong-rcon"),
    (Some(0), "rcon_auth right-rcon"),
    (Some(0), "rcon status"),
    (Some(0), "rcon tune gravity 0.4"),
    (Some(0), "rcon tune_reset"),
    (Some(0), "rcon logout"),
    (Some(2), "rcon_auth right-rcon"),
    (Some(2), "rcon status"),
    (Some(1), "kill"),
    (Some(2), "kill"),
    (None, "broadcast to everybody"),
    (None, "say from the server"),
    (Some(1), "whisper anna hello"),
    (Some(1), "team -1"),
    PAUSE,
    (Some(1), "spectate_next"),
    (Some(1), "team 0"),
    (Some(1), "player_clan other"),
    (Some(1), "player_clan teetap"),
    (None, "add_vote more \"say more\""),
    (None, "remove_vote more"),
];

#[test]
fn a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    let (six, seven) = (BigMap::six(MAP)?, BigMap::seven(MAP)?);
    let settings = [
        &BigMap::setting()[..],
        "add_vote talk \"say voted\"",
        "sv_join_vote_delay 0",
        "sv_vote_delay 0",
    ];
    let server = DdnetServer::start_with(&settings, |data| {
        six.write_into(&data.join("maps"))?;
        seven.write_into(&data.join("maps7"))
    })?;
    let mut game = Game::open(server)?;
    let begun = Instant::now();
    game.sit(Client::Ddnet, "anna")?;
    game.sit(Client::Ddnet, "bert")?;
    game.sit(Client::Npm, "carl")?;
    game.sit(Client::Offscreen, "sixup")?;
    game.rounds(&SIX_STEPS, begun)?;
    check(
        "a DDNet server",
        &game.end()?,
        &[
            "cl_call_vote",
            "sv_vote_set",
            "cl_change_info",
            "sv_teams_state",
            "cl_is_ddnet_legacy",
            "info_extended",
        ],
    )
}
