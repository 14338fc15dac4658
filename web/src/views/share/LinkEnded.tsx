/** The page of a link that opens nothing, with the reason. */

import "./share.css";

export interface LinkEndedProps {
  why: string;
}

export default function LinkEnded({ why }: LinkEndedProps) {
  return (
    <main class="empty link-ended">
      <h1>Shared thread</h1>
      <p role="alert">{why}</p>
    </main>
  );
}
