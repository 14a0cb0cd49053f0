#!/usr/bin/env node
// Starts the program of the package for this kind of machine, and gets out of its way.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `chela-${process.platform}-${process.arch}`;
const { version } = require("../package.json");

function findProgram() {
  try {
    return require.resolve(`${platform}/bin/chela`);
  } catch {
    return undefined;
  }
}

function fail(message, hint) {
  console.error(`error: ${message}`);
  console.error(`  → ${hint}`);
  process.exit(1);
}

const program = findProgram();
if (program === undefined) {
  fail(
    `the package ${platform} is not installed`,
    process.platform === "linux"
      ? `npm install -g chela@${version} --include=optional; without such a package, build from source`
      : "there are packages for Linux only; build from source",
  );
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// The terminal sends its signals to both; those sent to this process alone are passed on.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(name, () => {
    if (name !== "SIGINT" && name !== "SIGQUIT") child.kill(name);
  });
}

child.on("error", (error) => {
  fail(`${program} does not start: ${error.message}`, "is this system's glibc too old? `ldd --version` says which it is");
});
child.on("exit", (code, signal) => {
  process.exitCode = signal === null ? code : 128 + (constants.signals[signal] ?? 0);
});
