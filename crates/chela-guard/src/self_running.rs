//! Files that other programs run by themselves.
//!
//! Writing one is as good as running a command later, as the owner: whoever opens the folder,
//! enters it or builds in it runs what stands there. The table says when. What runs at the mere
//! opening of a folder or the start of a program is asked about always; what runs when the owner
//! builds is asked about after text from outside was read, since editing a Makefile is everyday
//! work.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// When a file is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsWhen {
    /// A folder is opened or entered, a shell or another program started, a time comes.
    Opened,
    /// The owner builds, tests, installs or deploys.
    Built,
}

/// One kind of file. The pattern is in small letters: `name`, `*ending`, `folder/name` for the
/// end of a path, `folder/` for everything below such a folder.
struct SelfRunningRow {
    pattern: &'static str,
    when: RunsWhen,
    /// Programs rewrite it at every build: that a command wrote it says nothing.
    is_kept_by_tools: bool,
}

const fn opened(pattern: &'static str) -> SelfRunningRow {
    SelfRunningRow {
        pattern,
        when: RunsWhen::Opened,
        is_kept_by_tools: false,
    }
}

const fn built(pattern: &'static str) -> SelfRunningRow {
    SelfRunningRow {
        pattern,
        when: RunsWhen::Built,
        is_kept_by_tools: false,
    }
}

/// Nobody writes it by hand, so a file tool asks after text from outside; commands write it all
/// the time.
const fn kept(pattern: &'static str) -> SelfRunningRow {
    SelfRunningRow {
        pattern,
        when: RunsWhen::Built,
        is_kept_by_tools: true,
    }
}

#[rustfmt::skip]
const SELF_RUNNING: &[SelfRunningRow] = &[
    // Shells and what they load.
    opened(".bashrc"), opened(".bash_profile"), opened(".bash_login"), opened(".profile"),
    opened(".zshrc"), opened(".zshenv"), opened(".zprofile"), opened("mise.local.toml"),
    opened(".mise.local.toml"), opened(".mise/"), opened("mise/config.toml"),
    opened("mise/config.local.toml"), opened("mise/conf.d/"),
    opened(".envrc"), opened("direnv.toml"), opened("mise.toml"), opened(".mise.toml"),
    opened(".bash_aliases"), opened(".bash_logout"), opened(".zlogin"), opened(".zlogout"),
    opened(".kshrc"), opened(".cshrc"), opened(".tcshrc"), opened(".login"), opened("config.fish"),
    opened("fish/conf.d/"), opened("fish/functions/"), opened(".inputrc"), opened(".tmux.conf"),
    opened(".screenrc"), opened("profile.d/"), opened(".direnv/"), opened("direnvrc"),
    opened("tmux/tmux.conf"), opened("fish/completions/"), opened("environment.d/"),
    opened("profile.ps1"), opened("microsoft.powershell_profile.ps1"), opened(".lessfilter"),
    opened(".lesskey"), opened("kitty.conf"), opened("alacritty.toml"),
    // The desktop, the clock and who may come in.
    opened("crontab"), opened("cron.d/"), opened("systemd/"), opened("autostart/"),
    opened("launchagents/"), opened("launchdaemons/"), opened(".ssh/"), opened("authorized_keys"),
    opened(".xprofile"), opened(".xinitrc"), opened(".xsession"), opened(".xsessionrc"),
    opened(".pam_environment"), opened("*.desktop"), opened("rc.local"), opened("crontabs/"),
    opened("anacrontab"), opened("*.service"), opened("*.timer"), opened(".forward"),
    opened(".procmailrc"), opened(".mailcap"), opened(".muttrc"), opened(".mailrc"),
    opened("i3/config"), opened("sway/config"), opened("hypr/"), opened(".xbindkeysrc"),
    opened("cron.hourly/"), opened("cron.daily/"), opened("cron.weekly/"), opened("cron.monthly/"),
    // Editors and agents, as soon as a folder is opened.
    opened(".vscode/"), opened("*.code-workspace"), opened(".idea/"), opened(".zed/"),
    opened(".theia/"), opened(".fleet/"), opened(".exrc"), opened(".vimrc"), opened(".nvimrc"),
    opened(".nvim.lua"), opened(".lvimrc"), opened(".dir-locals.el"), opened(".emacs"),
    opened(".devcontainer/"), opened("devcontainer.json"), opened(".devcontainer.json"),
    opened(".mcp.json"), opened("mcp.json"), opened(".cursor/"), opened(".claude/"),
    opened(".codex/"), opened(".gemini/"), opened(".windsurf/"), opened(".continue/"),
    opened(".aider.conf.yml"), opened(".amazonq/"), opened(".kiro/"), opened(".opencode/"),
    opened("opencode.json"), opened("opencode.jsonc"), opened(".crush.json"), opened(".goose/"),
    opened(".roo/"), opened(".junie/"), opened(".vim/"), opened("init.vim"), opened(".gvimrc"),
    opened("_vimrc"), opened("nvim/"), opened(".emacs.d/"), opened("early-init.el"),
    opened(".spacemacs"), opened(".helix/"), opened("helix/"), opened(".nova/"),
    opened("coc-settings.json"), opened(".neoconf.json"), opened(".ycm_extra_conf.py"),
    opened("hie.yaml"), opened(".luarc.json"), opened("*.sublime-project"),
    opened("rust-analyzer.toml"), opened(".vimrc.local"), opened(".local.vimrc"),
    opened(".ruby-lsp/"), opened(".metals/"), opened(".bloop/"), opened(".qwen/"),
    opened(".trae/"), opened(".factory/"), opened(".pi/"), opened(".augment/"),
    opened(".github/hooks/"),
    // Git, at its next command.
    opened(".husky/"), opened(".githooks/"), opened("git-hooks/"), opened(".gitconfig"),
    opened("git/config"), opened(".git-hooks/"), opened(".hgrc"), opened(".hg/hgrc"),
    opened(".jj/"), opened(".jjconfig.toml"), opened("jj/config.toml"), opened(".lefthook/"),
    // Its hooks, wherever a repository keeps them, and what makes a folder a repository.
    opened("hooks/applypatch-msg"), opened("hooks/pre-applypatch"),
    opened("hooks/post-applypatch"), opened("hooks/pre-commit"), opened("hooks/pre-merge-commit"),
    opened("hooks/prepare-commit-msg"), opened("hooks/commit-msg"), opened("hooks/post-commit"),
    opened("hooks/pre-rebase"), opened("hooks/post-checkout"), opened("hooks/post-merge"),
    opened("hooks/pre-push"), opened("hooks/pre-receive"), opened("hooks/update"),
    opened("hooks/proc-receive"), opened("hooks/post-receive"), opened("hooks/post-update"),
    opened("hooks/reference-transaction"), opened("hooks/push-to-checkout"),
    opened("hooks/pre-auto-gc"), opened("hooks/post-rewrite"), opened("hooks/sendemail-validate"),
    opened("hooks/fsmonitor-watchman"), opened("hooks/post-index-change"),
    opened("commondir"), opened("config.worktree"),
    // Interpreters and debuggers, when they start.
    opened("sitecustomize.py"), opened("usercustomize.py"), opened("*.pth"), opened(".pythonrc"),
    opened(".pythonrc.py"), opened(".irbrc"), opened(".pryrc"), opened(".rprofile"),
    opened(".ghci"), opened(".ocamlinit"), opened(".gdbinit"), opened(".lldbinit"),
    opened(".gdbearlyinit"), opened("*-gdb.py"), opened(".pdbrc"), opened(".pdbrc.py"),
    opened(".renviron"), opened("renv/activate.r"), opened(".ipython/"), opened(".jupyter/"),
    opened("ipython_config.py"), opened(".iex.exs"), opened(".erlang"), opened("startup.jl"),
    opened(".perldb"), opened(".sqliterc"), opened(".psqlrc"), opened(".my.cnf"),
    opened(".radare2rc"), opened(".octaverc"), opened("startup.m"), opened(".guile"),
    // Programs told what to run or whom to trust.
    opened(".curlrc"), opened(".wgetrc"), opened(".ripgreprc"), opened(".docker/config.json"),
    opened(".aws/config"), opened(".kube/config"), opened(".gnupg/"), opened("pip.conf"),
    opened(".local/bin/"), opened(".netrc"), opened(".ackrc"), opened("pip.ini"),
    opened("uv/uv.toml"), opened("containers/registries.conf"), opened(".config/gh/"),
    // Make and its kin.
    built("makefile"), built("gnumakefile"), built("*.mk"), built("justfile"), built(".justfile"),
    built("taskfile.yml"), built("taskfile.yaml"), built("cmakelists.txt"), built("*.cmake"),
    built("meson.build"), built("build.ninja"), built("sconstruct"), built("wscript"),
    built("build.bazel"), built("workspace.bazel"), built("module.bazel"), built(".bazelrc"),
    built("*.bzl"), built("configure"), built("configure.ac"), built("build"), built("workspace"),
    built(".bazeliskrc"), built("tools/bazel"), built("buck"), built(".buckconfig"),
    built("pants.toml"), built("makefile.am"), built("makefile.in"), built("gnumakefile.in"),
    built("taskfile.dist.yml"), built("magefile.go"), built("xmake.lua"), built("premake5.lua"),
    built("dune"), built("dune-project"), built("doxyfile"), built("bsdmakefile"),
    // JavaScript.
    built("package.json"), built(".npmrc"), built(".yarnrc"), built(".yarnrc.yml"),
    built(".pnpmfile.cjs"), built("bunfig.toml"), built("deno.json"), built("deno.jsonc"),
    built("*.config.js"), built("*.config.cjs"), built("*.config.mjs"), built("*.config.ts"),
    built("*.config.mts"), built("*.config.cts"), built("*.conf.js"), built("*rc.js"),
    built("*rc.cjs"), built("*rc.mjs"), built("gulpfile.js"), built("gruntfile.js"),
    built("gulpfile.ts"), built("gulpfile.mjs"), built("gruntfile.ts"), built("knexfile.js"),
    built("knexfile.ts"), built(".pnpmfile.mjs"), built("pnpm-workspace.yaml"), built(".pnp.cjs"),
    built(".yarn/"), built(".babelrc"), built("babel.config.json"), built(".swcrc"),
    built(".eslintrc"), built(".eslintrc.json"), built(".eslintrc.yml"), built(".eslintrc.yaml"),
    built(".prettierrc"), built(".prettierrc.json"), built(".prettierrc.yml"),
    built(".prettierrc.yaml"), built(".stylelintrc"), built(".stylelintrc.json"),
    built(".mocharc.json"), built(".mocharc.yml"), built(".mocharc.yaml"), built(".lintstagedrc"),
    built(".lintstagedrc.json"), built("jest.config.json"), built("nodemon.json"), built("nx.json"),
    built("turbo.json"), built("angular.json"), built("lerna.json"), built("netlify.toml"),
    built("wrangler.toml"),
    built("tsconfig.json"), kept("node_modules/.bin/"),
    // Python.
    kept(".venv/bin/"), kept("venv/bin/"), built("conftest.py"), built("setup.py"), built("setup.cfg"), built("pyproject.toml"),
    built("tox.ini"), built("pytest.ini"), built("noxfile.py"), built("tasks.py"),
    built("fabfile.py"), built("dodo.py"), built("conf.py"), built("requirements.txt"),
    built("pipfile"), built("mkdocs.yml"), built("requirements-dev.txt"), built("dev-requirements.txt"),
    built("requirements.in"), built("constraints.txt"), built("environment.yml"),
    built("environment.yaml"), built("uv.toml"), built("pdm.toml"), built("hatch.toml"),
    built("hatch_build.py"), built("pixi.toml"), built("manage.py"), built(".pylintrc"),
    built("pylintrc"), built(".coveragerc"), built("mypy.ini"), built(".flake8"),
    built("snakefile"), built("sconscript"),
    // Rust, Go, the JVM and the others.
    built("build.rs"), built("cargo.toml"), built(".cargo/config.toml"), built(".cargo/config"),
    built("rust-toolchain.toml"), built("rust-toolchain"), built("go.mod"), built("pom.xml"),
    built("build.gradle"), built("build.gradle.kts"), built("settings.gradle"),
    built("settings.gradle.kts"), built("gradle.properties"), built("gradlew"), built("mvnw"),
    built("gradle-wrapper.properties"), built("maven-wrapper.properties"), built("build.sbt"),
    built("build.xml"), built("build.sc"), built("rakefile"), built("gemfile"), built("*.gemspec"),
    built("*.rake"), built(".rspec"), built("guardfile"), built("podfile"), built("fastfile"),
    built("composer.json"), built("phpunit.xml"), built("mix.exs"), built("rebar.config"),
    built("package.swift"), built("stack.yaml"), built("*.cabal"), built("setup.hs"),
    built("build.zig"), built("*.csproj"), built("*.targets"), built("*.props"),
    built("nuget.config"), built("flake.nix"), built("default.nix"), built("shell.nix"),
    built("pkgbuild"), built("*.nix"), built("devbox.json"), built(".tool-versions"),
    built("go.work"), built(".air.toml"), built(".goreleaser.yml"), built(".goreleaser.yaml"),
    built(".golangci.yml"), built(".golangci.yaml"), built("cross.toml"), built(".mvn/"),
    built("*.gradle"), built("*.gradle.kts"), built("gradlew.bat"), built("mvnw.cmd"),
    built("*.sbt"), built(".sbtopts"), built("config.ru"), built(".rubocop.yml"), built("brewfile"),
    built("dangerfile"), built("capfile"), built(".bundle/"), built(".gemrc"),
    built("phpunit.xml.dist"), built("phpstan.neon"), built(".user.ini"), built(".htaccess"),
    built("artisan"), built(".formatter.exs"), built(".credo.exs"), built("config/config.exs"),
    built("config/runtime.exs"), built("rebar.config.script"), built("deps.edn"),
    built("project.clj"), built("bb.edn"), built("shadow-cljs.edn"), built("cabal.project"),
    built("lakefile.lean"), built("lakefile.toml"), built("*.rockspec"), built("makefile.pl"),
    built("build.pl"), built("build.zig.zon"), built("dub.json"), built("dub.sdl"),
    built("*.nimble"), built("nim.cfg"), built("*.nims"), built("shard.yml"), built("pubspec.yaml"),
    built("build.yaml"), built("analysis_options.yaml"), built("*.opam"), built("_targets.r"),
    built(".latexmkrc"), built("latexmkrc"), built("_quarto.yml"), built("book.toml"),
    built("_config.yml"), built("directory.build.props"), built("global.json"),
    built(".clangd"),
    // What will be downloaded.
    kept("package-lock.json"), kept("npm-shrinkwrap.json"), kept("yarn.lock"),
    kept("pnpm-lock.yaml"), kept("bun.lock"), kept("bun.lockb"), kept("deno.lock"),
    kept("cargo.lock"), kept("go.sum"), kept("go.work.sum"), kept("poetry.lock"), kept("uv.lock"),
    kept("pdm.lock"), kept("pixi.lock"), kept("pipfile.lock"), kept("gemfile.lock"),
    kept("composer.lock"), kept("mix.lock"), kept("flake.lock"), kept("packages.lock.json"),
    kept("package.resolved"), kept("podfile.lock"), kept("pubspec.lock"), kept("gradle.lockfile"),
    // Checks, machines and pipelines.
    built(".env"), built(".env.local"),
    built(".pre-commit-config.yaml"), built("lefthook.yml"), built("dockerfile"),
    built("*.dockerfile"), built("containerfile"), built("docker-compose.yml"),
    built("docker-compose.yaml"), built("compose.yml"), built("compose.yaml"), built("procfile"),
    built("vagrantfile"), built("tiltfile"), built("skaffold.yaml"), built("ansible.cfg"),
    built("*.tf"), built("jenkinsfile"), built(".github/workflows/"), built(".github/actions/"),
    built("action.yml"), built(".gitlab-ci.yml"), built(".circleci/"), built(".buildkite/"),
    built(".travis.yml"), built("azure-pipelines.yml"), built("bitbucket-pipelines.yml"),
    built(".drone.yml"), built("appveyor.yml"), built(".gitmodules"), built(".gitattributes"),
    built(".lfsconfig"), built("action.yaml"), built("lefthook.yaml"), built(".lefthook.yml"),
    built("lefthook-local.yml"), built(".pre-commit-config.yml"), built(".pre-commit-hooks.yaml"),
    built(".overcommit.yml"), built(".forgejo/workflows/"), built(".gitea/workflows/"),
    built(".woodpecker/"), built(".woodpecker.yml"), built("cloudbuild.yaml"),
    built("buildspec.yml"), built(".semaphore/"), built(".cirrus.yml"), built("codemagic.yaml"),
    built(".readthedocs.yml"), built(".readthedocs.yaml"), built("docker-bake.hcl"),
    built("compose.override.yml"), built("docker-compose.override.yml"), built("*.tf.json"),
    built("terragrunt.hcl"), built("pulumi.yaml"), built("serverless.yml"), built("helmfile.yaml"),
    // What other agents are told.
    built("agents.md"), built("claude.md"), built("claude.local.md"), built("gemini.md"),
    built("copilot-instructions.md"), built(".cursorrules"), built(".windsurfrules"),
    built(".clinerules"), built(".clinerules/"), built(".roorules"), built(".goosehints"),
    built("agents.override.md"), built("qwen.md"), built("warp.md"), built(".rules"),
    built(".github/agents/"), built(".github/instructions/"), built(".github/prompts/"),
];

/// When a file of this path is run, if programs run it by themselves.
pub fn runs_when(path: &str) -> Option<RunsWhen> {
    row_of(path).map(|row| row.when)
}

/// When a file of this path is run that a command wrote: what programs rewrite at every build does
/// not count.
pub fn runs_when_made(path: &str) -> Option<RunsWhen> {
    let row = row_of(path).filter(|row| !row.is_kept_by_tools);
    row.map(|row| row.when)
}

/// Whether there is a folder in which a file of this name is run. Most names can be told apart by
/// that, without a look at where they are.
pub fn may_run_somewhere(name: &str) -> bool {
    let name = small(name);
    INDEX.names.contains_key(&*name) || INDEX.ended(&name).next().is_some()
}

/// In small letters, which most names are already.
fn small(text: &str) -> Cow<'_, str> {
    let is_small = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
    match text.bytes().all(is_small) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.to_lowercase()),
    }
}

static INDEX: LazyLock<RowIndex> = LazyLock::new(|| RowIndex::of(SELF_RUNNING));

/// The gravest row that speaks of a path.
fn row_of(path: &str) -> Option<&'static SelfRunningRow> {
    let path = match path.contains('\\') {
        true => Cow::Owned(path.replace('\\', "/").to_lowercase()),
        false => small(path),
    };
    INDEX.rows_of(&path).min_by_key(|row| match row.when {
        RunsWhen::Opened => 0,
        RunsWhen::Built if !row.is_kept_by_tools => 1,
        RunsWhen::Built => 2,
    })
}

type Rows = Vec<&'static SelfRunningRow>;

/// The table by what a path is looked up with: every file of a workspace is, around each command.
struct RowIndex {
    /// By the whole name, or by the name at the end of a pattern with folders.
    names: HashMap<&'static str, Rows>,
    /// By what stands behind the last dot of the pattern.
    endings: HashMap<&'static str, Rows>,
    /// By the innermost folder of the pattern.
    folders: HashMap<&'static str, Rows>,
}

impl RowIndex {
    fn of(table: &'static [SelfRunningRow]) -> Self {
        let mut index = Self {
            names: HashMap::new(),
            endings: HashMap::new(),
            folders: HashMap::new(),
        };
        for row in table {
            let last = |path: &'static str| path.rsplit('/').next().unwrap_or_default();
            match (row.pattern.strip_prefix('*'), row.pattern.strip_suffix('/')) {
                (Some(ending), _) => {
                    let kind = extension(ending);
                    index.endings.entry(kind).or_default().push(row);
                }
                (None, Some(folder)) => index.folders.entry(last(folder)).or_default().push(row),
                (None, None) => index.names.entry(last(row.pattern)).or_default().push(row),
            }
        }
        index
    }

    /// The rows for what a name in small letters ends with.
    fn ended<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p &'static SelfRunningRow> {
        let rows = self.endings.get(extension(name)).into_iter().flatten();
        rows.filter(move |row| {
            let ending = row.pattern.trim_start_matches('*');
            name.len() > ending.len() && name.ends_with(ending)
        })
    }

    /// The rows that fit a path in small letters.
    fn rows_of<'p>(&'p self, path: &'p str) -> impl Iterator<Item = &'static SelfRunningRow> + 'p {
        let name = path.rsplit('/').next().unwrap_or_default();
        let named = self.names.get(name).into_iter().flatten();
        let named = named.filter(move |row| ends_with_parts(path, row.pattern));
        let ended = self.ended(name);
        let below = path.match_indices('/').flat_map(move |(end, _)| {
            let folder = path.get(..end).unwrap_or_default();
            let innermost = folder.rsplit('/').next().unwrap_or_default();
            let rows = self.folders.get(innermost).into_iter().flatten();
            rows.filter(move |row| ends_with_parts(folder, row.pattern.trim_end_matches('/')))
        });
        named.chain(ended).chain(below).copied()
    }
}

/// What stands behind the last dot of a name.
fn extension(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Whether a path ends with these parts of one.
fn ends_with_parts(path: &str, parts: &str) -> bool {
    let before = path.strip_suffix(parts);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that fits a pattern, and one that only looks like it.
    fn samples(pattern: &str) -> (String, String) {
        if let Some(ending) = pattern.strip_prefix('*') {
            (format!("a/b{ending}"), format!("a/b{ending}.txt"))
        } else if pattern.ends_with('/') {
            (format!("a/{pattern}x/y.txt"), format!("a/x{pattern}y.txt"))
        } else {
            (format!("a/{pattern}"), format!("a/x{pattern}.txt"))
        }
    }

    #[test]
    fn every_row_is_known_in_any_folder_and_case() {
        for row in SELF_RUNNING {
            let (fits, not) = samples(row.pattern);
            let name = fits.rsplit('/').next().unwrap_or_default();
            let is_by_name = !row.pattern.ends_with('/');
            assert!(
                !is_by_name || may_run_somewhere(&name.to_uppercase()),
                "{fits}"
            );
            assert!(!may_run_somewhere("y.txt"));
            let found = runs_when(&fits);
            assert!(found.is_some(), "{fits}");
            assert_eq!(runs_when(&fits.to_uppercase()), found, "{fits}");
            assert_eq!(runs_when(&format!("/home/me/{fits}")), found, "{fits}");
            assert_eq!(runs_when(&not), None, "{not}");
        }
    }

    #[test]
    fn what_programs_rewrite_at_every_build_counts_by_hand_alone() {
        for path in ["Cargo.lock", ".venv/bin/python", "node_modules/.bin/eslint"] {
            assert_eq!(runs_when(path), Some(RunsWhen::Built), "{path}");
            assert_eq!(runs_when_made(path), None, "{path}");
        }
        // The graver row counts, whatever folder it is in.
        let inside = "node_modules/.bin/.envrc";
        assert_eq!(runs_when_made(inside), Some(RunsWhen::Opened));
        // Not every folder of that name is git's.
        assert_eq!(runs_when("src/hooks/useOnline.ts"), None);
        assert_eq!(runs_when("tools/hooks/pre-push"), Some(RunsWhen::Opened));
    }

    #[test]
    fn what_runs_at_the_opening_is_told_from_what_runs_at_the_build() {
        for path in [
            ".envrc",
            ".vscode/tasks.json",
            "web/.husky/pre-commit",
            ".mcp.json",
            ".devcontainer/devcontainer.json",
            "lib/sitecustomize.py",
            ".vscode/settings.json",
        ] {
            assert_eq!(runs_when(path), Some(RunsWhen::Opened), "{path}");
        }
        for path in [
            "Makefile",
            "package.json",
            "tests/conftest.py",
            "build.rs",
            ".cargo/config.toml",
            ".github/workflows/ci.yml",
            ".eslintrc.js",
            "vite.config.ts",
            "Dockerfile",
            "vendor/lib/Makefile",
            "setup.py",
            "tox.ini",
            ".pre-commit-config.yaml",
            ".npmrc",
        ] {
            assert_eq!(runs_when(path), Some(RunsWhen::Built), "{path}");
        }
        for path in [
            "src/main.rs",
            "README.md",
            "notes/plan.md",
            "data.json",
            "a/make.txt",
        ] {
            assert_eq!(runs_when(path), None, "{path}");
        }
    }
}
