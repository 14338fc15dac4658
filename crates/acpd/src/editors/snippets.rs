//! Settings that are programs: acpd prints them, and the user puts them where they belong.
//!
//! In: a command line. Out: Lua, or Emacs Lisp. Never: writes a file.

use serde_json::Value;

/// Returns a text in quotes, as Lua and Emacs Lisp read it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn list(words: &[String], separator: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    words.join(separator)
}

fn parts(command: &[String]) -> (String, &[String]) {
    let (program, args) = command
        .split_first()
        .map_or(("acpd", &[][..]), |(program, args)| (&**program, args));
    (quoted(program), args)
}

/// Returns the settings for two plugins of Neovim.
pub fn neovim(command: &[String]) -> String {
    let (program, args) = parts(command);
    let (all, args) = (list(command, ", "), list(args, ", "));
    format!(
        r#"-- codecompanion.nvim
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      acpd = function()
        return require("codecompanion.adapters").extend("opencode", {{
          name = "acpd",
          formatted_name = "acpd",
          commands = {{ default = {{ {all} }} }},
        }})
      end,
    }},
  }},
  interactions = {{ chat = {{ adapter = "acpd" }} }},
}})

-- avante.nvim
require("avante").setup({{
  provider = "acpd",
  acp_providers = {{ acpd = {{ command = {program}, args = {{ {args} }} }} }},
}})

-- agentic.nvim
require("agentic").setup({{
  provider = "acpd",
  acp_providers = {{ acpd = {{ command = {program}, args = {{ {args} }} }} }},
}})
"#
    )
}

/// Returns the settings for agent-shell of Emacs.
pub fn emacs(command: &[String]) -> String {
    let (program, args) = parts(command);
    let args = list(args, " ");
    format!(
        r#"(add-to-list 'agent-shell-agent-configs
             (agent-shell-make-agent-config
              :identifier 'acpd
              :mode-line-name "acpd"
              :buffer-name "acpd"
              :shell-prompt "acpd> "
              :shell-prompt-regexp "acpd> "
              :client-maker (lambda (buffer)
                              (acp-make-client :command {program}
                                               :command-params '({args})
                                               :context-buffer buffer))))
"#
    )
}
