import type { ButtonHTMLAttributes, ReactElement, ReactNode } from "react";
import { pageUrl, navigate, type Query } from "@/lib/router";
import { Icon, type IconName } from "./icons";

type ButtonStyle = {
  /** At most one `primary` in a place; `danger` for destructive actions. */
  readonly variant?: "primary" | "default" | "ghost" | "danger";
  readonly icon?: IconName;
  readonly small?: boolean;
};

export function Button({
  variant = "default",
  icon,
  small = false,
  busy = false,
  children,
  className = "",
  disabled,
  ...rest
}: ButtonStyle & { busy?: boolean; children?: ReactNode } & ButtonHTMLAttributes<HTMLButtonElement>): ReactElement {
  return (
    <button
      type="button"
      className={`button variant-${variant} ${small ? "is-small" : ""} ${className}`}
      aria-busy={busy || undefined}
      disabled={disabled === true || busy}
      {...rest}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children !== undefined && <span className="truncate">{children}</span>}
    </button>
  );
}

/** A button with an icon only: its name is the accessible name and the tooltip. */
export function IconButton({
  icon,
  name,
  ...rest
}: { icon: IconName; name: string } & ButtonHTMLAttributes<HTMLButtonElement>): ReactElement {
  return (
    <button type="button" className="button variant-ghost is-icon" aria-label={name} title={name} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

/** A link to another screen. It is a real link, so it can be opened in a new tab. */
export function Link({
  to,
  query = {},
  className,
  children,
  ...rest
}: {
  to: string;
  query?: Query;
  className?: string;
  children: ReactNode;
  title?: string;
  "aria-current"?: "page" | undefined;
  "aria-label"?: string;
  onClick?: () => void;
}): ReactElement {
  const { onClick, ...others } = rest;
  return (
    <a
      href={pageUrl(to, query)}
      className={className}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
        event.preventDefault();
        onClick?.();
        navigate(to, query);
      }}
      {...others}
    >
      {children}
    </a>
  );
}

/** A link that looks like a button. */
export function ButtonLink({
  variant = "default",
  icon,
  small = false,
  to,
  query = {},
  children,
}: ButtonStyle & { to: string; query?: Query; children: ReactNode }): ReactElement {
  return (
    <Link to={to} query={query} className={`button variant-${variant} ${small ? "is-small" : ""}`}>
      {icon !== undefined && <Icon name={icon} />}
      <span className="truncate">{children}</span>
    </Link>
  );
}
