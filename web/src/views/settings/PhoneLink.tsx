/** Signs another device in: a single-use link, as a QR code. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { sentence } from "../../connection/connection.ts";
import { makeTicket, ticketUsed } from "../../connection/session.ts";
import { encodeQr, pathOfQr } from "../../text/qr.ts";

/** Addresses that lead to the device itself. */
const LOOPBACK = /^(localhost|127\.|\[::1\]|.*\.localhost$)/;

export function PhoneLink() {
  const [open, setOpen] = useState(false);
  return open ? (
    <Code onClose={() => setOpen(false)} />
  ) : (
    <button type="button" class="button" onClick={() => setOpen(true)}>
      Sign in another device…
    </button>
  );
}

function Code({ onClose }: { onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const [said, setSaid] = useState<string>();
  useEffect(() => {
    let over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const renew = async () => {
      try {
        const { ticket, expiresInSecs } = await makeTicket();
        if (over) {
          return;
        }
        setLink(`${location.origin}/#ticket=${ticket}`);
        let expired = false;
        timer = setTimeout(() => {
          expired = true;
          void renew();
        }, expiresInSecs * 900);
        await ticketUsed(ticket);
        if (!over && !expired) {
          clearTimeout(timer);
          setLink(undefined);
          setSaid("Signed in on the other device.");
        }
      } catch (error) {
        if (!over) {
          setLink(undefined);
          setSaid(sentence(error));
        }
      }
    };
    void renew();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, []);
  return (
    <div class="phone">
      {LOOPBACK.test(location.hostname) && (
        <p class="hint">
          This page’s address, <code>{location.host}</code>, works only on this computer. To sign in a phone, open acpd at an
          address that the phone can reach.
        </p>
      )}
      <p role="status">{said ?? "Scan this code with the other device. It gets your access. Each code works once, for 30 seconds."}</p>
      {link !== undefined && <Qr text={link} />}
      <button type="button" class="button" onClick={onClose}>
        Done
      </button>
    </div>
  );
}

function Qr({ text }: { text: string }) {
  const modules = useMemo(() => encodeQr(text), [text]);
  // The quiet zone around a code is four modules wide.
  const size = modules.length + 8;
  return (
    <svg class="qr" viewBox={`-4 -4 ${size} ${size}`} role="img" aria-label="QR code with a sign-in link" shape-rendering="crispEdges">
      <path d={pathOfQr(modules)} fill="currentColor" />
    </svg>
  );
}
