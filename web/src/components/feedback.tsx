/** What a screen shows when there is no data to show: an empty state, a placeholder or an error. */
import type { ReactElement, ReactNode } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Problem, errorMessage } from "@/api/problem";
import { Button } from "./Button";
import { Icon, type IconName } from "./icons";

export function EmptyState({
  icon = "board",
  title,
  children,
  action,
}: {
  icon?: IconName;
  title: string;
  children?: ReactNode;
  /** A button for the first step. */
  action?: ReactNode;
}): ReactElement {
  return (
    <div className="empty">
      <span className="empty-icon">
        <Icon name={icon} size={24} />
      </span>
      <h2>{title}</h2>
      {children !== undefined && <div className="muted empty-text">{children}</div>}
      {action !== undefined && <div className="row">{action}</div>}
    </div>
  );
}

/** Placeholder bars with the size of the text, so that nothing moves when it loads. */
export function Skeleton({ lines = 3, height = 20 }: { lines?: number; height?: number }): ReactElement {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className="skeleton-line" style={{ height, width: `${100 - ((index * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

export function ErrorMessage({ error, onRetry }: { error: unknown; onRetry?: () => void }): ReactElement {
  const errors = error instanceof Problem && error.errors.length > 1 ? error.errors : null;
  return (
    <div className="error-message" role="alert">
      <Icon name="warning" />
      <div className="grow">
        {errors === null ? (
          <p className="wrap-any prewrap">{errorMessage(error)}</p>
        ) : (
          <ul className="dotted">
            {errors.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        )}
      </div>
      {onRetry !== undefined && (
        <Button small icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

/** A query's data, its error, or a placeholder while it loads. */
export function QueryResult<T>({
  query,
  placeholder,
  children,
}: {
  query: UseQueryResult<T, Problem>;
  /** As large as the content, so that nothing moves. */
  placeholder?: ReactNode;
  children: (data: T) => ReactNode;
}): ReactElement {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) return <ErrorMessage error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <div role="status">
      <span className="visually-hidden">Loading</span>
      {placeholder ?? <Skeleton />}
    </div>
  );
}

/** A message for everybody on this screen. */
export function Notice({
  tone = "plain",
  children,
  action,
}: {
  tone?: "plain" | "needs_action" | "broken" | "open";
  children: ReactNode;
  action?: ReactNode;
}): ReactElement {
  return (
    <div className={`notice tone-${tone}`}>
      <div className="grow">{children}</div>
      {action}
    </div>
  );
}
