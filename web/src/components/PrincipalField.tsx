import { useId, type ReactElement } from "react";
import { useApiQuery } from "@/api/queries";
import { Field } from "./fields";

type Principals = { readonly principals: readonly { readonly id: string }[] };

/** The name of a caller: suggests the known principals and accepts any other text. */
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
