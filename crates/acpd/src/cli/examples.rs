//! The examples in the help of the commands.

/// Examples of commands, which come first in their help.
pub const EXAMPLES: &[(&str, &str)] = &[
    (
        "run",
        "acpd run \"fix the failing test\"
acpd run -a claude -C ~/site \"add a sitemap\"
acpd run -t @last \"now commit it\"
acpd run --detach -m opus --mode plan \"plan the migration\"
acpd run --attach error.png \"what is wrong here?\"
acpd run -p deny - < prompt.md",
    ),
    (
        "attach",
        "acpd attach\nacpd attach @last\nacpd attach --new --agent gemini -C ~/shop",
    ),
    (
        "threads",
        "acpd threads\nacpd threads -s waiting\nacpd threads -n 100 --json",
    ),
    (
        "search",
        "acpd search migration\nacpd search -t @last \"\\\"exact phrase\\\"\"",
    ),
    ("show", "acpd show @last\nacpd show 5e31c427 -n 1"),
    (
        "send",
        "acpd send @last \"then update the changelog\"\nacpd send 5e31c427 --steer \"use the other file\"\nacpd send @last --model opus \"try again\"\nacpd send @last --replace turn_2 \"fix only the test\"",
    ),
    (
        "answer",
        "acpd answer @last           # asks, or shows the question where there is no terminal
acpd answer @last allow
acpd answer @last --input '{\"name\": \"main\"}'
acpd answer @last --dismiss",
    ),
    (
        "type",
        "acpd type @last             # asks for a line, such as a password, and does not show it
acpd type @last yes
acpd type 5e31c427 --end-of-input
acpd type 5e31c427 --kill",
    ),
    ("interrupt", "acpd interrupt @last"),
    (
        "rename",
        "acpd rename 5e31c427 \"Fix the login\"\nacpd rename 5e31c427 --reset",
    ),
    ("add-dir", "acpd add-dir @last ~/src/library"),
    (
        "move",
        "acpd move @last\nacpd move 5e31c427 ~/src/app --add-dir ~/src/library",
    ),
    ("pin", "acpd pin @last"),
    ("unpin", "acpd unpin \"Fix the login\""),
    ("archive", "acpd archive 5e31c427"),
    ("unarchive", "acpd unarchive \"Fix the login\""),
    ("delete", "acpd delete 5e31c427"),
    (
        "prune",
        "acpd prune --dry-run\nacpd prune --yes --json | jq .bytes",
    ),
    (
        "usage",
        "acpd usage\nacpd usage --days 7 --by agent\nacpd usage --by thread --json | jq .spent",
    ),
    (
        "export",
        "acpd export @last -o story.md\nacpd export 5e31c427 | jq .type",
    ),
    (
        "share create",
        "acpd share create @last\nacpd share create 5e31c427 --expires 24h --name \"for the review\"
acpd share create @last --url https://box.example:4127",
    ),
    ("share list", "acpd share list\nacpd share list @last"),
    ("share revoke", "acpd share revoke 9f2c41d07b6e5a38"),
    (
        "serve",
        "acpd serve\nacpd serve --demo\nacpd serve --listen 127.0.0.1:5000",
    ),
    ("open", "acpd open\nacpd open --print"),
    (
        "pair",
        "acpd pair --tailscale\nacpd pair --url https://box.example --role operator\nacpd pair --ttl 1h --name tablet",
    ),
    ("status", "acpd status\nacpd status --json"),
    ("stop", "acpd stop\nacpd stop --when-idle"),
    (
        "doctor",
        "acpd doctor\nacpd doctor --agents --network\nacpd doctor --json | jq -r '.findings[] | select(.level != \"ok\") | .message'",
    ),
    ("restart", "acpd restart\nacpd restart --when-idle"),
    (
        "agents list",
        "acpd agents list\nacpd agents list --json | jq -r 'select(.installed).id'",
    ),
    ("agents running", "acpd agents running"),
    (
        "agents default",
        "acpd agents default\nacpd agents default gemini",
    ),
    ("agents install", "acpd agents install goose"),
    ("agents uninstall", "acpd agents uninstall goose"),
    ("agents update", "acpd agents update"),
    ("agents login", "acpd agents login claude-code"),
    ("agents doctor", "acpd agents doctor gemini"),
    ("editors list", "acpd editors list"),
    (
        "editors install",
        "acpd editors install zed\nacpd editors install vscode --agent gemini\nacpd editors install neovim          # prints what belongs into its configuration",
    ),
    (
        "service install",
        "acpd service install\nsudo acpd service install --system --user acpd",
    ),
    ("service uninstall", "acpd service uninstall"),
    (
        "service status",
        "acpd service status\nacpd service status --json | jq .active",
    ),
    ("backup", "acpd backup ~/backup/acpd.tar"),
    (
        "restore",
        "acpd restore ~/backup/acpd.tar\nacpd restore --data-dir /srv/acpd acpd.tar",
    ),
    (
        "setup",
        "acpd setup\nacpd setup --print\nacpd setup --agent gemini --agent opencode --default-agent gemini --yes",
    ),
    ("config check", "acpd config check"),
    ("config path", "$EDITOR \"$(acpd config path)\""),
    (
        "config show",
        "acpd config show\nacpd config show --json | jq .limits",
    ),
    (
        "token create",
        "acpd token create --name phone --role approver\nacpd token create --name ci --role operator --expires 30d > token",
    ),
    ("notifications list", "acpd notifications list"),
    (
        "notifications test",
        "acpd notifications test\nacpd notifications test phone",
    ),
    ("token list", "acpd token list"),
    ("token revoke", "acpd token revoke phone"),
    ("token ticket", "acpd token ticket --agent claude"),
    (
        "policy test",
        "acpd policy test --bash \"git push\"\nacpd policy test --agent claude --write src/main.rs",
    ),
    (
        "policy answers",
        "acpd policy answers\nacpd policy answers --agent claude --json | jq .rule",
    ),
    ("policy revoke", "acpd policy revoke claude 4294967297"),
    ("man", "acpd man ~/.local/share/man/man1"),
    ("schema", "acpd schema > app-protocol.json"),
    ("logs", "acpd logs -f"),
    (
        "acp",
        "acpd acp --agent claude     # as the agent command of an editor",
    ),
    (
        "codex",
        "acpd codex --agent claude
acpd codex \"fix the failing test\"
acpd codex resume
acpd codex app-server        # as the codex program of an extension or SDK",
    ),
    (
        "completions",
        "acpd completions bash > ~/.local/share/bash-completion/completions/acpd",
    ),
];
