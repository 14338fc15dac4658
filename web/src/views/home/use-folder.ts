/** The folder of a new thread: what the user typed, what is wrong with it, and its absolute path on the daemon's host. */

import { useEffect, useRef, useState } from "preact/hooks";

import { defaultFolder, folders, nextFolder } from "../../app/agents.ts";
import { createFolder, listFolders } from "../../app/folders.ts";
import { announce } from "../../app/live-region.ts";
import { threads } from "../../app/threads.ts";
import { sentence } from "../../connection/connection.ts";
import { visibleLine } from "../../text/bidi-guard.ts";
import type { FolderProblem } from "./FolderField.tsx";

/** Maximum number of recent folders that are suggested. */
const PLACES = 20;

/** `own` is the folder of an agent that has one: it is used where no other is known, and created. */
export function useFolder(own?: string) {
  const usual = defaultFolder.value === "" ? [] : [defaultFolder.value];
  const places = [...new Set([...usual, ...folders.value, ...(threads.value ?? []).map(({ cwd }) => cwd)])].slice(0, PLACES);
  // Threads that others start meanwhile do not change what the user sees.
  const latest = useRef<string | undefined>(undefined);
  latest.current ??= nextFolder.peek() ?? places[0];
  // Only this form begins with it.
  useEffect(() => void (nextFolder.value = undefined), []);
  const [chosen, choose] = useState<string>();
  // What the field had when the user entered it: text that arrives later would mix with theirs.
  const [entered, enter] = useState<string>();
  const [problem, setProblem] = useState<FolderProblem>();
  const typed = chosen ?? entered ?? latest.current ?? own ?? "";

  const refuse = (words: string, create?: () => void): never => {
    setProblem({ words, ...(create && { create }) });
    document.getElementById("folder")?.focus();
    throw new Error(words);
  };
  const create = async () => {
    try {
      choose(await createFolder(typed));
      setProblem(undefined);
      announce("Created the folder");
      document.getElementById("prompt")?.focus();
    } catch (why) {
      setProblem({ words: `Couldn’t create it: ${sentence(why)}` });
    }
  };
  return {
    typed,
    places,
    problem,
    enter: () => enter(typed),
    leave: () => enter(undefined),
    change: (path: string) => {
      choose(path);
      setProblem(undefined);
    },
    /** Returns the absolute path. Otherwise shows what is wrong, and rejects. */
    resolve: async (): Promise<string> => {
      setProblem(undefined);
      if (!/^(\/|~(\/|$))/.test(typed)) {
        return refuse("Enter an absolute path, like /home/ann/project or ~/project.");
      }
      try {
        return (await listFolders(typed)).path;
      } catch (why) {
        if ((why as { code?: string }).code !== "not_found") {
          return refuse(sentence(why));
        }
        if (typed === own) {
          return createFolder(own).catch((why: unknown) => refuse(`Couldn’t create it: ${sentence(why)}`));
        }
        const host = await listFolders("~").then((home) => visibleLine(home.host), () => "the daemon’s host");
        return refuse(`No such folder on ${host}.`, () => void create());
      }
    },
  };
}
