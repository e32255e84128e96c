/** What people write into: every control has a label, and an error or a word of advice is tied to it. */
import {
  useId,
  type InputHTMLAttributes,
  type ReactElement,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from "react";
import { Icon } from "./icons";

type Around = {
  readonly label: ReactNode;
  /** Said below, when there is no error. */
  readonly advice?: ReactNode;
  readonly error?: ReactNode;
  /** The label is there for screen readers only. */
  readonly unlabelled?: boolean;
};

function Labelled({
  id,
  label,
  advice,
  error,
  unlabelled = false,
  children,
}: Around & { id: string; children: ReactNode }): ReactElement {
  return (
    <div className={`field ${error ? "has-error" : ""}`}>
      <label htmlFor={id} className={unlabelled ? "unseen" : "field-label"}>
        {label}
      </label>
      {children}
      {error ? (
        <p className="field-error" id={`${id}-more`} role="alert">
          {error}
        </p>
      ) : (
        advice && (
          <p className="field-advice" id={`${id}-more`}>
            {advice}
          </p>
        )
      )}
    </div>
  );
}

function told(id: string, { advice, error }: Around): { "aria-describedby"?: string; "aria-invalid"?: true } {
  return { ...(advice || error ? { "aria-describedby": `${id}-more` } : {}), ...(error ? { "aria-invalid": true } : {}) };
}

export function Field({
  label,
  advice,
  error,
  unlabelled,
  value,
  onChange,
  mono = false,
  ...rest
}: Around & { value: string; onChange: (value: string) => void; mono?: boolean } & Omit<
    InputHTMLAttributes<HTMLInputElement>,
    "onChange" | "value"
  >): ReactElement {
  const id = useId();
  const around: Around = { label, advice, error, ...(unlabelled === undefined ? {} : { unlabelled }) };
  return (
    <Labelled id={id} {...around}>
      <input
        id={id}
        className={`input ${mono ? "mono" : ""}`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
        spellCheck={false}
        {...told(id, around)}
        {...rest}
      />
    </Labelled>
  );
}

export function TextArea({
  label,
  advice,
  error,
  unlabelled,
  value,
  onChange,
  mono = false,
  ...rest
}: Around & { value: string; onChange: (value: string) => void; mono?: boolean } & Omit<
    TextareaHTMLAttributes<HTMLTextAreaElement>,
    "onChange" | "value"
  >): ReactElement {
  const id = useId();
  const around: Around = { label, advice, error, ...(unlabelled === undefined ? {} : { unlabelled }) };
  return (
    <Labelled id={id} {...around}>
      <textarea
        id={id}
        className={`input is-area ${mono ? "mono" : ""}`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        spellCheck={!mono}
        {...told(id, around)}
        {...rest}
      />
    </Labelled>
  );
}

export type Choice = { readonly value: string; readonly label: string; readonly disabled?: boolean };

export function Select({
  label,
  advice,
  error,
  unlabelled,
  value,
  onChange,
  choices,
  ...rest
}: Around & { value: string; onChange: (value: string) => void; choices: readonly (Choice | string)[] } & Omit<
    SelectHTMLAttributes<HTMLSelectElement>,
    "onChange" | "value"
  >): ReactElement {
  const id = useId();
  const around: Around = { label, advice, error, ...(unlabelled === undefined ? {} : { unlabelled }) };
  return (
    <Labelled id={id} {...around}>
      <span className="select">
        <select id={id} className="input" value={value} onChange={(event) => onChange(event.target.value)} {...told(id, around)} {...rest}>
          {choices.map((choice) => {
            const { value: each, label: word, disabled } = typeof choice === "string" ? { value: choice, label: choice, disabled: false } : choice;
            return (
              <option key={each} value={each} disabled={disabled}>
                {word}
              </option>
            );
          })}
        </select>
        <Icon name="down" />
      </span>
    </Labelled>
  );
}

/** What is looked for: with a drawing, and cleared by Escape. */
export function SearchField({
  label,
  value,
  onChange,
  placeholder,
  ...rest
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  ref?: Ref<HTMLInputElement>;
} & Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value">): ReactElement {
  const id = useId();
  return (
    <span className="search-field">
      <label htmlFor={id} className="unseen">
        {label}
      </label>
      <Icon name="search" />
      <input
        id={id}
        type="search"
        className="input"
        value={value}
        placeholder={placeholder ?? label}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && value !== "") {
            event.preventDefault();
            onChange("");
          }
        }}
        {...rest}
      />
    </span>
  );
}

/** On or off, said at once: a switch. */
export function Switch({
  label,
  on,
  onChange,
  disabled = false,
  unlabelled = false,
}: {
  label: ReactNode;
  on: boolean;
  onChange: (on: boolean) => void;
  disabled?: boolean;
  unlabelled?: boolean;
}): ReactElement {
  return (
    <label className="switch">
      <input type="checkbox" role="switch" checked={on} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span className="switch-track" aria-hidden="true" />
      <span className={unlabelled ? "unseen" : ""}>{label}</span>
    </label>
  );
}

export function Check({
  label,
  on,
  onChange,
  disabled = false,
}: {
  label: ReactNode;
  on: boolean;
  onChange: (on: boolean) => void;
  disabled?: boolean;
}): ReactElement {
  return (
    <label className="check">
      <input type="checkbox" checked={on} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  );
}
