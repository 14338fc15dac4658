/** The entry point of the page: styles, then the session, then the view. */

import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./views/parts/parts.css";
import "./app/theme.ts";
import "./app/away.ts";
import "./app/notifications.ts";
import "./app/install.ts";
import "./app/link-note.ts";

import { render } from "preact";

import { setPaper } from "./app/print.ts";
import { listenForShortcuts } from "./app/shortcuts.ts";
import { begin, standing } from "./connection/connection.ts";
import { Banner } from "./views/parts/Banner.tsx";
import { lazy } from "./views/parts/lazy.tsx";
import { Toasts } from "./views/parts/Toasts.tsx";
import type { LinkEndedProps } from "./views/share/LinkEnded.tsx";
import type { SharedPageProps } from "./views/shell/SharedPage.tsx";
import { Shell } from "./views/shell/Shell.tsx";

const SharedPage = lazy<SharedPageProps>(() => import("./views/shell/SharedPage.tsx"));
const LinkEnded = lazy<LinkEndedProps>(() => import("./views/share/LinkEnded.tsx"));
const SignIn = lazy(() => import("./views/sign-in/SignIn.tsx"));

function Page() {
  const { value: now } = standing;
  return (
    <>
      {now.name === "in" && (now.session.share ? <SharedPage share={now.session.share} /> : <Shell />)}
      {now.name === "out" && (now.shared ? <LinkEnded why={now.why ?? ""} /> : <SignIn key={now.why} />)}
      {now.name === "looking" && (
        <>
          <Banner />
          <main class="empty" aria-busy="true">
            <h1 class="sr-only">acpd</h1>
            <p>Connecting to the daemon…</p>
          </main>
        </>
      )}
      <Toasts />
    </>
  );
}

listenForShortcuts();
setPaper(() => import("./views/pane/ThreadPane.tsx"));
void begin();
const root = document.getElementById("app");
if (root) {
  render(<Page />, root);
}
