/** Form controls. Every control has a label, and its error or hint is linked to it. */
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

type FieldProps = {
  readonly label: ReactNode;
  /** Shown below, if there is no error. */
  readonly hint?: ReactNode;
  readonly error?: ReactNode;
  /** The label is for screen readers only. */
  readonly hideLabel?: boolean;
};

function LabelledField({
  id,
  label,
  hint,
  error,
  hideLabel = false,
  children,
}: FieldProps & { id: string; children: ReactNode }): ReactElement {
  return (
    <div className={`field ${error ? "has-error" : ""}`}>
      <label htmlFor={id} className={hideLabel ? "visually-hidden" : "field-label"}>
        {label}
      </label>
      {children}
      {error ? (
        <p className="field-error" id={`${id}-more`} role="alert">
          {error}
        </p>
      ) : (
        hint && (
          <p className="field-hint" id={`${id}-more`}>
            {hint}
          </p>
        )
      )}
    </div>
  );
}

function ariaProps(id: string, { hint, error }: FieldProps): { "aria-describedby"?: string; "aria-invalid"?: true } {
  return { ...(hint || error ? { "aria-describedby": `${id}-more` } : {}), ...(error ? { "aria-invalid": true } : {}) };
}

export function Field({
  label,
  hint,
  error,
  hideLabel,
  value,
  onChange,
  mono = false,
  ...rest
}: FieldProps & { value: string; onChange: (value: string) => void; mono?: boolean } & Omit<
    InputHTMLAttributes<HTMLInputElement>,
    "onChange" | "value"
  >): ReactElement {
  const id = useId();
  const fieldProps: FieldProps = { label, hint, error, ...(hideLabel === undefined ? {} : { hideLabel }) };
  return (
    <LabelledField id={id} {...fieldProps}>
      <input
        id={id}
        className={`input ${mono ? "mono" : ""}`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
        spellCheck={false}
        {...ariaProps(id, fieldProps)}
        {...rest}
      />
    </LabelledField>
  );
}

export function TextArea({
  label,
  hint,
  error,
  hideLabel,
  value,
  onChange,
  mono = false,
  ...rest
}: FieldProps & { value: string; onChange: (value: string) => void; mono?: boolean } & Omit<
    TextareaHTMLAttributes<HTMLTextAreaElement>,
    "onChange" | "value"
  >): ReactElement {
  const id = useId();
  const fieldProps: FieldProps = { label, hint, error, ...(hideLabel === undefined ? {} : { hideLabel }) };
  return (
    <LabelledField id={id} {...fieldProps}>
      <textarea
        id={id}
        className={`input is-area ${mono ? "mono" : ""}`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        spellCheck={!mono}
        {...ariaProps(id, fieldProps)}
        {...rest}
      />
    </LabelledField>
  );
}

export type SelectOption = { readonly value: string; readonly label: string; readonly disabled?: boolean };

export function Select({
  label,
  hint,
  error,
  hideLabel,
  value,
  onChange,
  options,
  ...rest
}: FieldProps & { value: string; onChange: (value: string) => void; options: readonly (SelectOption | string)[] } & Omit<
    SelectHTMLAttributes<HTMLSelectElement>,
    "onChange" | "value"
  >): ReactElement {
  const id = useId();
  const fieldProps: FieldProps = { label, hint, error, ...(hideLabel === undefined ? {} : { hideLabel }) };
  return (
    <LabelledField id={id} {...fieldProps}>
      <span className="select">
        <select id={id} className="input" value={value} onChange={(event) => onChange(event.target.value)} {...ariaProps(id, fieldProps)} {...rest}>
          {options.map((option) => {
            const { value: optionValue, label: optionLabel, disabled } = typeof option === "string" ? { value: option, label: option, disabled: false } : option;
            return (
              <option key={optionValue} value={optionValue} disabled={disabled}>
                {optionLabel}
              </option>
            );
          })}
        </select>
        <Icon name="down" />
      </span>
    </LabelledField>
  );
}

/** A search field with an icon; Escape clears it. */
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
      <label htmlFor={id} className="visually-hidden">
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

/** A switch that takes effect at once. */
export function Switch({
  label,
  checked,
  onChange,
  disabled = false,
  hideLabel = false,
}: {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
  hideLabel?: boolean;
}): ReactElement {
  return (
    <label className="switch">
      <input type="checkbox" role="switch" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span className="switch-track" aria-hidden="true" />
      <span className={hideLabel ? "visually-hidden" : ""}>{label}</span>
    </label>
  );
}

export function Checkbox({
  label,
  checked,
  onChange,
  disabled = false,
}: {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}): ReactElement {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  );
}
