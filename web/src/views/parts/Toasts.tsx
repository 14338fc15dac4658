/** Short messages, and the live region for screen readers. */

import { announcement } from "../../app/live-region.ts";
import { toasts } from "../../app/toasts.ts";
import { Icon } from "./Icon.tsx";

export function Toasts() {
  const drop = (id: number) => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  };
  return (
    <>
      <div class="toasts" role="status" aria-live="polite">
        {toasts.value.map(({ id, text, kind, action }) => (
          <div class={`toast ${kind}`} key={id}>
            <p>{text}</p>
            {action && (
              <button
                type="button"
                class="button"
                onClick={() => {
                  drop(id);
                  action.run();
                }}
              >
                {action.label}
              </button>
            )}
            <button type="button" class="button quiet icon" aria-label="Dismiss" onClick={() => drop(id)}>
              <Icon name="close" size={14} />
            </button>
          </div>
        ))}
      </div>
      <p class="sr-only" role="status" aria-live="polite">
        {announcement.value}
      </p>
    </>
  );
}
