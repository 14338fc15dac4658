// One field of an agent's form.

import { useId } from "preact/hooks";

import { visibleLine, visibleWords } from "../../../text/bidi-guard.ts";
import type { Field, Filled } from "./form.ts";

export interface FieldProps {
  field: Field;
  filled: Filled | undefined;
  /** The validation error. */
  wrong: string | undefined;
  off: boolean;
  onFill: (value: Filled) => void;
  onLeave: () => void;
}

/** Maximum length of a single-line text, in characters. */
const LONG = 200;

const TYPES: Record<string, string> = {
  email: "email",
  uri: "url",
  date: "date",
  "date-time": "datetime-local",
  password: "password",
};

/** The attributes that connect a control with its label and description. */
interface Bound {
  id: string;
  describedBy: string;
}

export function FieldView(props: FieldProps) {
  const { field, wrong } = props;
  const id = useId();
  const describedBy = `${id}-about ${id}-wrong`;
  const about = field.description !== "" && (
    <p class="hint" id={`${id}-about`}>
      {visibleWords(field.description)}
    </p>
  );
  const complaint = (
    <p class="error-text th-complaint" id={`${id}-wrong`} aria-live="polite">
      {wrong}
    </p>
  );
  if (field.kind === "choices") {
    return (
      <fieldset class="th-field" data-field={field.key} aria-describedby={describedBy} onFocusOut={props.onLeave}>
        <legend class="label">
          <Title field={field} />
        </legend>
        {about}
        <Choices {...props} />
        {complaint}
      </fieldset>
    );
  }
  if (field.kind === "boolean") {
    return (
      <div class="th-field th-field-boolean" data-field={field.key}>
        <label class="th-check">
          <input
            type="checkbox"
            id={id}
            checked={props.filled === true}
            disabled={props.off}
            aria-describedby={describedBy}
            onChange={(event) => props.onFill(event.currentTarget.checked)}
          />
          <Title field={field} />
        </label>
        {about}
      </div>
    );
  }
  return (
    <div class="th-field" data-field={field.key}>
      <label class="label" for={id}>
        <Title field={field} />
      </label>
      {about}
      <Control {...props} bound={{ id, describedBy }} />
      {complaint}
    </div>
  );
}

function Title({ field }: { field: Field }) {
  return (
    <span>
      {visibleLine(field.title)}
      {field.required && field.kind !== "boolean" && (
        <span class="th-required" title="required">
          {" "}
          *
        </span>
      )}
    </span>
  );
}

function Control({ field, filled, wrong, off, onFill, onLeave, bound }: FieldProps & { bound: Bound }) {
  const value = typeof filled === "string" ? filled : "";
  const common = {
    id: bound.id,
    class: "field",
    value,
    disabled: off,
    required: field.required,
    "aria-invalid": wrong !== undefined,
    "aria-describedby": bound.describedBy,
    onBlur: onLeave,
  };
  const fill = (event: { currentTarget: { value: string } }) => onFill(event.currentTarget.value);
  if (field.kind === "choice") {
    const about = field.choices.find((choice) => choice.value === value)?.description;
    return (
      <>
        <select {...common} onChange={fill}>
          {(!field.required || value === "") && <option value="">{field.required ? "Choose…" : "None"}</option>}
          {field.choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {visibleLine(choice.title)}
            </option>
          ))}
        </select>
        {about !== undefined && <p class="hint">{visibleWords(about)}</p>}
      </>
    );
  }
  if (field.kind === "json" || (field.kind === "text" && (field.most ?? 0) > LONG)) {
    return <textarea {...common} rows={3} onInput={fill} spellcheck={field.kind === "text"} />;
  }
  if (field.kind === "number" || field.kind === "integer") {
    return <input {...common} type="text" inputMode={field.kind === "integer" ? "numeric" : "decimal"} onInput={fill} />;
  }
  // Preact's types require a literal input type, and this one is determined at run time.
  const typed = { ...common, type: TYPES[field.format] ?? "text", onInput: fill } as object;
  return <input {...typed} />;
}

function Choices({ field, filled, off, onFill }: FieldProps) {
  const chosen = Array.isArray(filled) ? filled : [];
  const toggle = (value: string, on: boolean) =>
    onFill(on ? [...chosen, value] : chosen.filter((other) => other !== value));
  return (
    <div class="th-choices">
      {field.choices.map((choice) => (
        <label key={choice.value} class="th-check">
          <input
            type="checkbox"
            checked={chosen.includes(choice.value)}
            disabled={off}
            onChange={(event) => toggle(choice.value, event.currentTarget.checked)}
          />
          <span>
            {visibleLine(choice.title)}
            {choice.description !== undefined && <span class="hint"> {visibleWords(choice.description)}</span>}
          </span>
        </label>
      ))}
    </div>
  );
}
