/**
 * The commands that one stroke in a list must not allow: what they do cannot be undone, or they run what the line does not
 * show. A guard against a slip of the hand, and no policy: a person has read the line before. Pure.
 */

import type { CallSubject } from "@acpd/client";

/** Programs that delete, overwrite, end or publish, or act with more rights. */
const PROGRAMS = new Set(
  (
    "rm rmdir unlink shred srm truncate dd mkfs fdisk sfdisk parted wipefs mkswap chmod chown chgrp kill pkill killall " +
    "shutdown reboot halt poweroff sudo doas su pkexec crontab systemctl launchctl iptables nft userdel usermod passwd dropdb diskutil"
  ).split(" "),
);
/** Programs that run text, other programs or what they download. */
const RUNNERS = new Set("sh bash zsh dash ksh fish eval exec source ssh xargs parallel nc".split(" "));
/** Words of other programs, in this order and perhaps with others between them. */
const PHRASES: readonly (readonly string[])[] = [
  ["git", "push", "-f"], ["git", "push", "--force"], ["git", "push", "--force-with-lease"], ["git", "push", "--mirror"],
  ["git", "push", "--delete"], ["git", "push", "-d"], ["git", "reset", "--hard"], ["git", "clean"], ["git", "checkout", "--"],
  ["git", "checkout", "-f"], ["git", "checkout", "."], ["git", "restore"], ["git", "branch", "-d"], ["git", "branch", "--delete"],
  ["git", "stash", "drop"], ["git", "stash", "clear"], ["git", "filter-branch"], ["git", "update-ref"], ["git", "gc"],
  ["find", "-delete"], ["find", "-exec"], ["find", "-execdir"], ["find", "-ok"], ["rsync", "--delete"], ["tar", "--remove-files"],
  ["docker", "prune"], ["docker", "kill"], ["docker", "down"], ["podman", "prune"], ["kubectl", "delete"], ["kubectl", "drain"],
  ["helm", "uninstall"], ["terraform", "destroy"], ["terraform", "apply"], ["aws", "delete"], ["gcloud", "delete"],
  ["npm", "publish"], ["npm", "unpublish"], ["yarn", "publish"], ["pnpm", "publish"], ["cargo", "publish"], ["twine", "upload"],
  ["gh", "delete"], ["gh", "merge"], ["drop", "table"], ["drop", "database"], ["delete", "from"], ["truncate", "table"],
];

/** Returns whether a call contains a command of the list, or deletes a file. */
export function isDangerous(subject: CallSubject): boolean {
  switch (subject.type) {
    case "command":
      return hasDanger(subject.argv.join(" "));
    case "commandLine":
      return hasDanger(subject.line);
    case "file":
      return subject.access === "delete";
    default:
      return false;
  }
}

/**
 * Looks for the words of the list wherever they are, since any word may be run: behind `sudo`, in quotes, as an argument. What
 * only the shell can resolve counts, too.
 */
function hasDanger(line: string): boolean {
  if (/[`$]/.test(line) || /(^|[;&|(]\s*)[^\s;&|()]*[?*[]/.test(line)) {
    return true;
  }
  // Quotes and backslashes disappear within words, so that r''m is rm.
  const words = line
    .replace(/["'\\]/g, "")
    .split(/[\s;&|()<>{},=]+/)
    .map((word) => word.slice(word.lastIndexOf("/") + 1).toLowerCase());
  return (
    words.some((word) => PROGRAMS.has(word) || RUNNERS.has(word) || /^mkfs\./.test(word)) ||
    // A refspec with a plus is a forced push.
    /\bpush\b.*\s\+/.test(line) ||
    PHRASES.some((phrase) => contains(words, phrase))
  );
}

/** Returns whether words contain those of a phrase in their order. */
function contains(words: readonly string[], phrase: readonly string[]): boolean {
  let at = 0;
  for (const word of words) {
    if (fits(word, phrase[at]!)) {
      at += 1;
      if (at === phrase.length) {
        return true;
      }
    }
  }
  return false;
}

/** Flags may be written together, as in `-fd`, and `delete` may begin a word, as in `delete-bucket`. */
function fits(word: string, wanted: string): boolean {
  if (/^-[a-z]$/.test(wanted)) {
    return /^-[a-z]+$/.test(word) && word.includes(wanted[1]!);
  }
  return word === wanted || (wanted === "delete" && word.startsWith("delete-"));
}
