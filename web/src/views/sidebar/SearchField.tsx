/** The field of the search. */

import { useEffect, useRef } from "preact/hooks";

import { touch } from "../../app/layout.ts";
import { query, searching } from "../../app/search.ts";
import { Icon } from "../parts/Icon.tsx";

export { query };

export function SearchField() {
  // Enter opens the first result, also if that has yet to arrive.
  const wantsFirst = useRef(false);
  const openFirst = () => {
    wantsFirst.current = query.value !== "" && searching.value;
    if (query.value !== "" && !searching.value) {
      document.querySelector<HTMLElement>(".side-list [data-rove]")?.click();
    }
  };
  useEffect(() => {
    if (wantsFirst.current && !searching.value) {
      openFirst();
    }
  }, [searching.value]);
  return (
    <div class="search" role="search">
      <Icon name="search" size={14} />
      <input
        id="search"
        class="search-field"
        type="search"
        placeholder="Search threads"
        aria-label="Search threads"
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        value={query.value}
        onInput={(event) => {
          wantsFirst.current = false;
          query.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.isComposing) {
            event.preventDefault();
            openFirst();
          } else if (event.key === "Escape") {
            event.stopPropagation();
            wantsFirst.current = false;
            if (query.value === "") {
              event.currentTarget.blur();
            }
            query.value = "";
          } else if (event.key === "ArrowDown") {
            event.preventDefault();
            document.querySelector<HTMLElement>(".side-list [data-rove]")?.focus();
          }
        }}
      />
      {query.value !== "" ? (
        <button
          type="button"
          class="button quiet icon"
          aria-label="Clear the search"
          onClick={() => {
            query.value = "";
            document.getElementById("search")?.focus();
          }}
        >
          <Icon name="close" size={12} />
        </button>
      ) : (
        !touch.value && <kbd aria-hidden="true">/</kbd>
      )}
      {searching.value && <div class="progress-line" role="progressbar" aria-label="Searching" />}
    </div>
  );
}
