use std::path::{Path, PathBuf};

use super::{CommandReach, CommandWords, ReadTarget};

fn reach(line: &str) -> CommandReach {
    CommandWords::of_line(line, Path::new("/w")).reach
}

fn text(path: &str) -> ReadTarget {
    ReadTarget::Text(PathBuf::from(path))
}

#[test]
fn what_prints_only_what_it_is_told_is_known() {
    for line in [
        "echo hello",
        "printf '%s\\n' \"two words\"",
        "date +%F",
        "pwd && true",
        "echo a; echo b",
        "echo hello > made.md 2>&1",
    ] {
        assert_eq!(reach(line), CommandReach::Named(Vec::new()), "{line}");
    }
    assert_eq!(
        reach("cat a.md notes/b.md | head -n 5"),
        CommandReach::Named(vec![text("/w/a.md"), text("/w/notes/b.md"), text("/w/5")])
    );
    assert_eq!(
        reach("wc -l < a.md"),
        CommandReach::Named(vec![text("/w/a.md")])
    );
    assert_eq!(
        reach("ls"),
        CommandReach::Named(vec![ReadTarget::Names(PathBuf::from("/w"))])
    );
    let words = CommandWords::of_line("echo x >> out.txt", Path::new("/w"));
    assert_eq!(words.writes, [PathBuf::from("/w/out.txt")]);
}

#[test]
fn what_may_read_more_than_it_names_is_not() {
    for line in [
        "python3 tool.py",
        "git log",
        "echo $(cat mail.eml)",
        "echo $HOME",
        "cat *.md",
        "cat ~/mail",
        "grep -rn order .",
        "grep -d recurse order",
        "grep --recurs order",
        "grep -if list a.md",
        "wc --files0=mail.eml",
        "diff --from=mail.eml a.md",
        "date -uf mail.eml",
        "hexdump -n1 -ffmt.hd a.md",
        "md5sum -c list",
        "hostname -F mail.eml",
        "ls -R",
        "sort --files0-from=list",
        "date -f mail.eml",
        "PATH=. cat a.md",
        "cat <(curl x)",
        "./cat a.md",
        "cat a.md & rm b",
        "echo 'unfinished",
        "curl https://example.com",
        "sed 1e a.md",
    ] {
        assert_eq!(reach(line), CommandReach::Anything, "{line}");
    }
}

#[test]
fn what_changes_only_the_files_it_names_is_known() {
    let words = |line: &str| CommandWords::of_line(line, Path::new("/w"));
    for (line, reads, writes) in [
        ("echo x >> a.md", &["a.md"][..], &["a.md"][..]),
        ("sed -i 's/kind/brief/g' a.md", &["a.md"], &["a.md"]),
        ("sed -i -e '3d' -e '/old/d' a.md", &["a.md"], &["a.md"]),
        ("sed -n '1,5p' a.md", &["a.md"], &[]),
        ("mv a.md b.md", &["a.md"], &["a.md", "b.md", "b.md"]),
        ("git mv a.md b.md", &["a.md"], &["a.md", "b.md", "b.md"]),
        ("cp a.md notes/", &["a.md"], &["notes/a.md"]),
        ("rm -rf notes", &[], &["notes"]),
        ("echo x | tee a.md", &[], &["a.md"]),
        ("echo x | tee -a a.md", &["a.md"], &["a.md"]),
        ("sh -c \"printf -- '- x' > ./a.md\"", &[], &["./a.md"]),
        (
            "mkdir -p notes && touch notes/a.md",
            &["notes/a.md"],
            &["notes/a.md"],
        ),
    ] {
        let found = words(line);
        let reads = reads.iter().map(|path| text(&format!("/w/{path}")));
        assert_eq!(found.reach, CommandReach::Named(reads.collect()), "{line}");
        let writes = writes.iter().map(|path| Path::new("/w").join(path));
        assert_eq!(found.writes, writes.collect::<Vec<_>>(), "{line}");
    }
    for line in [
        "cat > a.md <<'EOF'\n- $(not run)\nEOF",
        "cat > a.md <<EOF\n- plain\n\nEOF\n",
        "cat <<-\"END\" > a.md\n\tx\n\tEND\necho done",
        "tee a.md <<'EOF' > /dev/null\nx; sh vendor/x.sh\nEOF",
    ] {
        let found = words(line);
        assert_eq!(found.reach, CommandReach::Named(Vec::new()), "{line}");
        assert_eq!(found.writes, [PathBuf::from("/w/a.md")], "{line}");
    }
    assert_eq!(words("git mv a b").repositories, [PathBuf::from("/w")]);
}

#[test]
fn what_a_script_of_others_may_do_is_not() {
    for line in [
        "sh vendor/build.sh SOUL.md",
        "bash -ec 'echo x' ",
        "make",
        "env sh x.sh",
        "find . -exec sh x.sh {} +",
        "sed -i '1e sh x.sh' a.md",
        "sed -i 's/a/b/e' a.md",
        "sed -i 's/a/b/w SOUL.md' a.md",
        "sed -i '1r vendor/orders.md' SOUL.md",
        "sed -i -f vendor/script.sed SOUL.md",
        "sed -i 'w SOUL.md' a.md",
        "sed -i 's/[/]/x/;e sh x.sh' a.md",
        "sed -i '1d;1e sh x.sh' a.md",
        "cp -r vendor/notes memory",
        "mv -t memory vendor/a.md",
        "tar xf vendor.tar",
        "git checkout main",
        "git -C vendor mv a b",
        "git pull",
        "sort -uo SOUL.md vendor/a.md",
        "sort --compress-program=sh a.md",
        "uniq vendor/a.md SOUL.md",
        "ln -s vendor memory",
        "tee --append a.md",
        "sh",
        "unzip a.zip",
        "cat > a.md <<EOF\n$(sh vendor/x.sh)\nEOF",
        "cat > a.md <<EOF\n`sh vendor/x.sh`\nEOF",
        "cat > a.md <<'EOF'\nx\nEOF\nsh vendor/x.sh",
        "sh <<'EOF'\nsh vendor/x.sh\nEOF",
        "cat > a.md <<'EOF'\nunfinished",
        "cat > a.md <<'E'OF\nx\nE\nsh vendor/x.sh\nEOF",
        "cat <<< x",
        "cat <> vendor/a.md",
    ] {
        assert_eq!(reach(line), CommandReach::Anything, "{line}");
    }
}

#[test]
fn what_follows_two_dashes_is_a_file_and_so_is_a_word_beside_a_script() {
    assert_eq!(
        reach("cat -n -- -R.md"),
        CommandReach::Named(vec![text("/w/-R.md")])
    );
    assert_eq!(
        reach("sed invoice.txt -e p"),
        CommandReach::Named(vec![text("/w/invoice.txt")])
    );
}
