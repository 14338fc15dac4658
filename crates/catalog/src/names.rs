//! The names under which an agent keeps files of its own: `~/.NAME`, and `NAME` in the user's directories for settings, data,
//! caches and state.
//!
//! In: a command line, or an agent of the registry. Out: names, and the paths that bear them. Never: returns the name of a
//! program that runs other programs, or of a directory that other programs use.
//!
//! An agent may write these directories, and its name comes from a document that was downloaded or from a command line. So a
//! name must not lead to keys, to files that other programs run, or to another program's settings.

/// Endings that the names of adapters and packages add to the agent's name.
const ENDINGS: [&str; 4] = ["-acp", "-cli", "-agent", "-code"];

/// Extensions of scripts.
const SCRIPTS: [&str; 10] = ["sh", "bash", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl"];

/// Length limits of a name.
const SHORTEST: usize = 2;
const LONGEST: usize = 48;

/// Programs that run another program, which is the agent, and programs of the system. Their settings are not the agent's.
const PROGRAMS: &str = "
    acpd age apptainer arch asdf ash awk bash bun bundle bunx busybox bwrap caffeinate cargo chamber chpst
    chroot chrt cmd composer conda cp csh dash dbus dbus-run-session deno devbox devcontainer direnv
    distrobox doas docker docker-compose doppler dotenv dotenvx dotnet elixir emacs env envchain erl exec
    faketime firejail fish flatpak flock fnm gdb gem gh git glab go gradle guix gum hatch helm infisical
    ionice java jj julia just keychain ksh kubectl lima limactl ltrace lua lxc make mamba micromamba mise
    mosh mvn nerdctl nice nix nix-shell node nodejs nohup npm npx nsenter numactl nvim nvm op pass pdm perl
    php pip pip3 pipenv pipx pixi pkexec pkgx pnpm pnpx podman poetry powershell proot proxychains
    proxychains4 pwsh pyenv pypy pypy3 python python2 python3 rbenv rtx ruby run runuser rustup rye screen
    script sed setpriv setsid setuid sh singularity snap socat sops ssh sshpass start stdbuf strace su sudo
    systemd systemd-inhibit systemd-run tail task tclsh tcsh tee teleport time timeout tini tmux torify
    torsocks tox ts-node tsh tsx unbuffer unshare uv uvx vault vim virtualenv volta wine wsl xargs xvfb-run
    yarn zellij zsh";

/// Directories that hold keys, or that other programs read, run or share; and words that name no program in particular.
const SHARED: &str = "
    1password accounts acme agent agents ai alacritty anacron android ansible antigen app apple
    applications apt argocd assets at atuin authinfo autostart awesome aws azure backup backups
    bash-completion bash_aliases bash_history bash_login bash_logout bash_profile bashrc bin bitcoin
    bitwarden books bot boto brave brew browser bspwm btop build cache caches calendar cert certs chrome
    chromium cinnamon claude-desktop cli client cloudflared code composer config configstore contacts
    containers context credentials cron cups curlrc cursor-server data db dbeaver dbus-1 dconf desktop dev
    digitalocean direnvrc discord dist docker-cli doctl documents dolphin doom downloads dropbox dunst
    editor electron electrum elvish emacs.d environment environment.d etc ethereum evolution fastly
    fetchmail files filezilla firefox flatpak fly flyctl fontconfig fonts forward fzf gcloud gdbinit
    getmail ghc ghci ghcup ghostty git-credentials gitconfig github gitk gitkraken gitlab gnome gnupg
    gnupg-agent gnupg2 go-build google google-chrome gpg gsutil gtk-2.0 gtk-3.0 gtk-4.0 gvfs hcloud helix
    helm heroku hexchat hg hgrc history home home-manager homebrew htop http httpie hushlogin hypr i3 ibus
    icons index info init inputrc ipython irbrc irssi ivy2 java jetbrains jupyter k9s kak kde kde4
    kdeconnect kdeglobals keepassxc keras keybase keymap keyring keyrings keys kitty konsole krb5 kube
    kwallet kwalletd launchagents launcher lazydocker lazygit ledger lesshst lf lib libreoffice libvirt
    linode-cli linuxbrew lldbinit local locks log login logs m2 mail main man mate mbsync mcp menus
    metamask microsoft microsoft-edge mime mimeapps.list minikube mnt model models module monero mozilla
    mpv msmtp music mutt muttrc mysql mysql_history neomutt netlify netrc networkmanager ngrok niri
    nix-defexpr nix-profile nixpkgs nm-applet nnn node_modules notes notmuch npmrc nuget nushell obsidian
    oci octaverc offlineimap oh-my-zsh okta openssl openvpn opera opt pam pam_environment password
    password-store passwords pdbrc pgadmin pgpass photos pictures pip pki plasma plasma-workspace pm2
    polybar postgresql preferences private procmail profile profiles program protonvpn pryrc psql_history
    ptpython public pulse pulumi putty pypirc pypoetry qtile ranger rclone recently-used remmina repo
    rhosts river rofi root rprofile s3cfg s5cmd sandbox sbt scripts scw secret secrets sentry sentryclirc
    server servers service session settings share shell shells shosts signal slack snapd snowflake snowsql
    socket sockets solana sources spacemacs spotify sql sqlite src ssh2 ssl starship start state steam
    storage stripe subversion sudo supervisor swarm sway swaylock sxhkd sync syncthing systemd tailscale
    telegram temp templates terminfo terraform terraform.d test thumbnails thunderbird tmp tmpfiles.d token
    tokens tool tools tor trash update user user-dirs user-dirs.dirs user-tmpfiles.d users vaults vercel
    video videos viminfo vlc vpn vscode vscode-server wallet wallets wasmer waybar wayland weechat wezterm
    wget-hsts wgetrc winscp wireguard work workspace wrangler x11 xauthority xdg xfce4 xinitrc xmonad xonsh
    xprofile xresources xsession xsessionrc yarnrc yazi zed zim zinit zlogin zprezto zprofile zsh_history
    zshenv zshrc";

/// Programs that run the package or script that follows, and the words that may come between.
const RUNNERS: [&str; 10] = [
    "npx", "npm", "pnpm", "bunx", "bun", "node", "deno", "uvx", "uv", "pipx",
];
const BETWEEN: [&str; 5] = ["exec", "dlx", "x", "tool", "run"];

/// Programs that download what they run into a cache, or take it from the working directory, with the words that have them do so;
/// none if they do nothing else.
const DOWNLOADERS: [(&str, &[&str]); 10] = [
    ("npx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uvx", &[]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("bun", &["x"]),
    ("uv", &["tool"]),
    ("pipx", &["run"]),
];

/// The names under which one agent keeps files of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnNames {
    /// The names, each the name of one directory.
    pub names: Vec<String>,
    /// Whether the names come from a registry document alone. A directory that exists already may then belong to another
    /// program.
    pub only_new: bool,
}

/// Returns the part of `word` behind its last slash.
pub(super) fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Returns the word of a command line that names the package or script to run, if the program is a runner. Words after it are
/// the agent's own arguments.
pub(super) fn run_by<'a>(command: &str, mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = file_name(command);
    let is_runner = RUNNERS.contains(&name) || name.starts_with("python");
    words.find(|word| is_runner && !word.starts_with('-') && !BETWEEN.contains(word))
}

/// Returns the name of a command line's program, if it downloads what it runs.
pub fn downloader<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = file_name(words.next()?);
    let (_, verbs) = DOWNLOADERS.iter().find(|(program, _)| *program == name)?;
    let verb = words.find(|word| !word.starts_with('-'));
    (verbs.is_empty() || verb.is_some_and(|verb| verbs.contains(&verb))).then_some(name)
}

/// Returns the names of the agent that a command line starts.
pub fn of_command<'a>(mut words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let command = words.next().unwrap_or_default();
    let run = run_by(command, words);
    collect(std::iter::once(command).chain(run).map(of_word))
}

/// Returns the names of an agent of the registry: those of its id, its package and its program.
pub(super) fn of_agent(id: &str, package: &str, program: &str) -> Vec<String> {
    collect([id, package, program].into_iter().map(of_word))
}

/// Returns the paths that bear a name. They begin with a variable.
pub fn places(name: &str) -> [String; 5] {
    [
        format!("$HOME/.{name}"),
        format!("$XDG_CONFIG_HOME/{name}"),
        format!("$XDG_CACHE_HOME/{name}"),
        format!("$XDG_DATA_HOME/{name}"),
        format!("$XDG_STATE_HOME/{name}"),
    ]
}

fn collect<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in words.flat_map(forms) {
        if is_own(name) && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns the name in a word of a command line: of the package that it names or leads into, or of the file.
fn of_word(word: &str) -> &str {
    for packages in ["/node_modules/", "/site-packages/"] {
        if let Some((_, below)) = word.rsplit_once(packages)
            && !below.starts_with(".bin/")
        {
            let package = below.strip_prefix('@').and_then(|scoped| scoped.split_once('/'));
            let below = package.map_or(below, |(_, rest)| rest);
            return below.split('/').next().unwrap_or(below);
        }
    }
    let is_scoped = word.starts_with('@') && word.matches('/').count() == 1;
    let name = file_name(if is_scoped { &word[1..] } else { word });
    // Versions and extras of a package.
    let name = name
        .split(['@', '=', '[', '<', '>', '~', '!'])
        .next()
        .unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, extension)) if SCRIPTS.contains(&extension) => stem,
        _ => name,
    }
}

/// Returns a name and its shorter forms, in the order of their length.
fn forms(name: &str) -> Vec<&str> {
    let mut forms = vec![name];
    while let Some(shorter) = forms
        .last()
        .and_then(|name| ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)))
    {
        forms.push(shorter);
    }
    forms
}

/// Returns whether directories of this name can be the agent's own.
fn is_own(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let lower = name.to_ascii_lowercase();
    let is_reserved = |name: &str| {
        let mut reserved = PROGRAMS.split_whitespace().chain(SHARED.split_whitespace());
        reserved.any(|reserved| reserved == name)
    };
    // "python3.13" and "node22" are programs as well.
    let bare = lower.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    (SHORTEST..=LONGEST).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(fits)
        && !name.contains("..")
        && !bare.is_empty()
        && !is_reserved(&lower)
        && !is_reserved(bare)
        // The short form of the name of a key agent or a client is the directory with its keys.
        && !forms(&lower).iter().any(|form| is_reserved(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_download_what_they_run_are_known() {
        for (line, expected) in [
            ("npx --yes thing", Some("npx")),
            ("/usr/bin/uvx thing", Some("uvx")),
            ("bunx thing", Some("bunx")),
            ("npm --yes exec thing", Some("npm")),
            ("pnpm dlx thing", Some("pnpm")),
            ("bun x thing", Some("bun")),
            ("uv tool run thing", Some("uv")),
            ("pipx run thing", Some("pipx")),
            ("bun /srv/thing.ts", None),
            ("npm start", None),
            ("uv run --directory /srv/thing thing", None),
            ("node npx", None),
            ("thing npx", None),
        ] {
            assert_eq!(downloader(line.split(' ')), expected, "{line}");
        }
    }

    #[test]
    fn an_agent_has_the_names_of_its_program_and_package() {
        for (line, expected) in [
            ("cline --acp", &["cline"][..]),
            ("/opt/bin/deepagents-acp", &["deepagents-acp", "deepagents"]),
            ("npx --yes pi-acp@0.0.34", &["pi-acp", "pi"]),
            ("npx -y @scope/some-agent@1", &["some-agent", "some"]),
            ("uvx crow-cli[acp]==1.2 --x y", &["crow-cli", "crow"]),
            ("python3 -m thing serve", &["thing"]),
            ("node /x/node_modules/@scope/thing/dist/index.js", &["thing"]),
            ("node /x/node_modules/.bin/thing", &["thing"]),
            ("python3.13 /srv/thing.py", &["thing"]),
            ("/usr/bin/node /srv/index.js", &[]),
        ] {
            assert_eq!(of_command(line.split(' ')), expected, "{line}");
        }
        assert_eq!(
            of_agent("github-copilot-cli", "@github/copilot", "copilot"),
            ["github-copilot-cli", "github-copilot", "copilot"]
        );
    }

    /// The words come from a downloaded document or from a command line with a program around the agent.
    #[test]
    fn no_name_leads_to_keys_or_to_files_of_other_programs() {
        for word in [
            "ssh",
            "SSH",
            "ssh-agent",
            "gpg-agent",
            "gnupg",
            "aws",
            "aws-cli",
            "docker",
            "docker-agent",
            "kube",
            "config",
            "config-cli",
            "cache",
            "local",
            "share",
            "mozilla",
            "netrc",
            "bashrc",
            "autostart",
            "systemd",
            "fish",
            "password-store",
            "keyrings",
            "op",
            "gh",
            "gh-cli",
            "azure-cli",
            "1password-cli",
            "env",
            "sh",
            "bash",
            "python3",
            "python3.13",
            "node",
            "node22",
            "npx",
            "uvx",
            "acpd",
            "acpd-acp",
            "..",
            "../.ssh",
            ".ssh",
            "~/.ssh",
            "/home/u/.ssh",
            "a b",
            "x",
            "",
            "-acp",
            "-",
            "ssh.py",
            "$HOME",
            "a\u{0}b",
            "1.2",
            "ssh@1.0.0",
            "@evil/ssh",
            "node_modules/ssh/x",
            "/x/node_modules/ssh/x.js",
            "/x/node_modules/@evil/../ssh",
            "google-chrome",
            "zed",
            "nvim",
            "code",
        ] {
            let names = of_agent(word, word, word);
            assert_eq!(names, [""; 0], "{word}");
            assert_eq!(of_command([word].into_iter()), [""; 0], "{word}");
            assert_eq!(of_command(["npx", word].into_iter()), [""; 0], "{word}");
        }
    }

    #[test]
    fn a_name_is_one_part_of_each_path() {
        assert_eq!(
            places("thing"),
            [
                "$HOME/.thing",
                "$XDG_CONFIG_HOME/thing",
                "$XDG_CACHE_HOME/thing",
                "$XDG_DATA_HOME/thing",
                "$XDG_STATE_HOME/thing"
            ]
        );
    }
}
