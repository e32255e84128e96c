import { useId, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { Field } from "./fields";

type Principals = { readonly principals: readonly { readonly id: string }[] };

/** A caller by name; the ones that the gateway knows are offered, and any other may be typed. */
export function PrincipalField({
  label = "Principal",
  value,
  onChange,
  placeholder,
}: {
  label?: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
}): ReactElement {
  const id = useId();
  const principals = useApiQuery<Principals>(["tokens", "policy"], "/principals");
  return (
    <>
      <Field label={label} value={value} onChange={onChange} list={id} {...(placeholder === undefined ? {} : { placeholder })} />
      <datalist id={id}>
        {principals.data?.principals.map((each) => (
          <option key={each.id} value={each.id} />
        ))}
      </datalist>
    </>
  );
}
