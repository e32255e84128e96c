/** When tools of a server wait for a person. */
import { useId, type ReactElement } from "react";
import type { Trust } from "@/api/servers";

const CHOICES: readonly { readonly trust: Trust; readonly name: string; readonly means: string }[] = [
  { trust: "baseline", name: "Baseline", means: "What it shows at first is open. Whatever is new or changed after that waits for you." },
  { trust: "strict", name: "Strict", means: "Every tool waits until you approve it." },
  { trust: "open", name: "Open", means: "Everything it shows is open, now and later. For servers you wrote yourself." },
];

export function TrustChoice({
  value,
  onChange,
  disabled = false,
}: {
  value: Trust;
  onChange: (trust: Trust) => void;
  disabled?: boolean;
}): ReactElement {
  const name = useId();
  return (
    <fieldset className="choices" disabled={disabled}>
      <legend className="unseen">Trust</legend>
      {CHOICES.map((choice) => (
        <label key={choice.trust} className="choice">
          <input type="radio" name={name} checked={value === choice.trust} onChange={() => onChange(choice.trust)} />
          <span>
            <strong>{choice.name}</strong>
            <span className="quiet small">{choice.means}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
