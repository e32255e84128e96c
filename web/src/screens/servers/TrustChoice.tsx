/** When the tools of a server wait for a person. */
import { useId, type ReactElement } from "react";
import type { Trust } from "@/api/servers";

const TRUST_LEVELS: readonly { readonly trust: Trust; readonly name: string; readonly description: string }[] = [
  { trust: "baseline", name: "Baseline", description: "What it shows at first is open. Whatever is new or changed after that waits for you." },
  { trust: "strict", name: "Strict", description: "Every tool waits until you approve it." },
  { trust: "open", name: "Open", description: "Everything it shows is open, now and later. For servers you wrote yourself." },
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
      <legend className="visually-hidden">Trust</legend>
      {TRUST_LEVELS.map((level) => (
        <label key={level.trust} className="choice">
          <input type="radio" name={name} checked={value === level.trust} onChange={() => onChange(level.trust)} />
          <span>
            <strong>{level.name}</strong>
            <span className="muted small">{level.description}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
