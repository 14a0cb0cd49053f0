//! The gateway under load, as a process: many sessions, a steady stream of messages, and the same
//! once more while it is killed every few seconds.
//!
//! `cargo xtask bench gateway [--sessions N] [--rate N] [--seconds N] [--kill-every N]`. The model is
//! a thread that answers at once. The baseline is the same messages sent to that thread without a
//! gateway between; what is added is the difference. Lateness counts from the moment a message was
//! due, so a gateway that stalls does not hide behind a client that waits for it. Last comes a table
//! of what was measured beside the goals; the exit code is 1 where one is missed.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]
#![expect(
    clippy::print_stdout,
    reason = "a benchmark reports to the person who runs it"
)]

mod client;
mod goals;
mod load;
mod meter;
mod model;
mod records;
mod served;

use std::time::Duration;

use chela_testkit::bench::BenchEffort;
use goals::GoalTable;
use load::{LoadPlan, LoadReport};
use meter::ProcessMeter;
use model::EchoModel;
use served::ServedHome;

/// What a gateway is held to.
const MOST_ADDED_MS: f64 = 50.0;
const MOST_IDLE_MB: f64 = 30.0;
const MOST_RESIDENT_MB: f64 = 150.0;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let effort = BenchEffort::asked();
    let number = |flag: &str, usual: usize, tried: usize| {
        let at = args.iter().position(|arg| arg == flag);
        let value = at.and_then(|at| args.get(at + 1));
        value.map_or(effort.pick(usual, tried), |value| {
            value.parse().expect("a number")
        })
    };
    let seconds = number("--seconds", 120, 2);
    let plan = LoadPlan {
        sessions: number("--sessions", 500, 4),
        rate: number("--rate", 200, 8),
        time: Duration::from_secs(u64::try_from(seconds).unwrap_or(120)),
        first: 0,
    };
    let kill_every = number("--kill-every", 10, 1);
    let kill_every = Duration::from_secs(u64::try_from(kill_every).unwrap_or(10));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let model = EchoModel::start();
    println!(
        "{} sessions, {} messages/s, {seconds} s; {} cores",
        plan.sessions,
        plan.rate,
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get)
    );
    println!(
        "\n{:<30} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "", "messages", "per s", "p50 ms", "p99 ms", "max ms"
    );
    let short = LoadPlan {
        time: plan.time.min(Duration::from_secs(20)),
        ..plan
    };
    let direct = runtime.block_on(load::run(&short, model.place(), client::model_request));
    direct.print("the model alone");
    let mut goals = GoalTable::default();
    steady(&runtime, &plan, &model, &direct, &mut goals);
    killed(&runtime, &plan, &model, kill_every, &mut goals);
    goals.print();
    // Where it is only tried, times and sizes say nothing.
    if effort == BenchEffort::Measured && !goals.are_met() {
        std::process::exit(1);
    }
}

/// The stream as it is meant, and then as fast as it goes.
fn steady(
    runtime: &tokio::runtime::Runtime,
    plan: &LoadPlan,
    model: &EchoModel,
    direct: &LoadReport,
    goals: &mut GoalTable,
) {
    let home = ServedHome::new(&model.url());
    let gateway = home.start();
    let meter = ProcessMeter::of(gateway.pid());
    std::thread::sleep(Duration::from_secs(3));
    let idle = meter.memory();
    let before = meter.cpu();
    let report = runtime.block_on(load::run(plan, gateway.place(), client::gateway_request));
    let cpu = meter.cpu().saturating_sub(before);
    report.print("through the gateway");
    let (resident, peak) = (meter.memory(), meter.peak());
    let fast = LoadPlan {
        rate: 0,
        time: plan
            .time
            .min(Duration::from_secs(BenchEffort::asked().pick(15, 1))),
        first: 1_000_000,
        ..*plan
    };
    let fastest = runtime.block_on(load::run(&fast, gateway.place(), client::gateway_request));
    fastest.print("as fast as it goes");
    println!(
        "\nadded: p50 {:.1} ms, p99 {:.1} ms ({:.0} × and {:.0} × the model alone); CPU {:.1} ms a turn; \
         resident after the rush {:.1} MB",
        report.at(50) - direct.at(50),
        report.at(99) - direct.at(99),
        report.at(50) / direct.at(50),
        report.at(99) / direct.at(99),
        cpu.as_secs_f64() * 1e3 / report.count().max(1) as f64,
        meter.memory()
    );
    // The last answers come after the time that messages are asked for.
    let asked = plan.rate as f64 * 0.99;
    goals.at_least("messages answered a second", report.rate(), asked, "/s");
    let added = report.at(99) - direct.at(99);
    goals.at_most("p99 added latency", added, MOST_ADDED_MS, "ms");
    let added = report.at_later(99) - direct.at(99);
    let name = "p99 added latency, from the second message on";
    goals.at_most(name, added, MOST_ADDED_MS, "ms");
    goals.at_most("resident, idle", idle, MOST_IDLE_MB, "MB");
    goals.at_most("resident after the load", resident, MOST_RESIDENT_MB, "MB");
    goals.at_most("resident at its peak", peak, MOST_RESIDENT_MB, "MB");
    drop(gateway);
    let mut expected = report.answered;
    expected.merge(fastest.answered);
    records::check(&home, &expected).note("under load", goals);
}

fn killed(
    runtime: &tokio::runtime::Runtime,
    plan: &LoadPlan,
    model: &EchoModel,
    every: Duration,
    goals: &mut GoalTable,
) {
    let home = ServedHome::new(&model.url());
    let (report, kills) = runtime.block_on(async {
        let keeper = home.keep_killing(every);
        let report = load::run(plan, keeper.place(), client::gateway_request).await;
        (report, keeper.end().await)
    });
    report.print(&format!("killed {kills} times"));
    let gateway = home.start();
    gateway.wait_until_idle();
    drop(gateway);
    // The last one may come when nothing is asked any more.
    let meant = plan.time.as_secs_f64() / (every.as_secs_f64() + 1.0);
    goals.at_least("kill -9 during the load", kills as f64, meant.floor(), "×");
    records::check(&home, &report.answered).note("killed", goals);
}
