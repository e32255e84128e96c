/** The frame around all screens: navigation, command palette and toasts. */
import { useEffect, useState, type ReactElement } from "react";
import { UNREACHABLE_MESSAGE } from "@/api/problem";
import { invalidate, useApiQuery } from "@/api/queries";
import { useChangeFeed } from "@/api/change-feed";
import { useConnectionStatus, useGatewayUnreachable } from "@/api/connection-status";
import { useSignInOut } from "@/api/session";
import type { Servers, Session, Status } from "@/api/types";
import { usePath } from "@/lib/router";
import { ButtonLink, Dialog, EmptyState, Icon, Link, Notice, Time, Toasts } from "@/components";
import { ROUTES, type Route } from "@/routes";
import { Palette } from "./Palette";
import { ThemeButton } from "./theme";
import { LazyScreen } from "./LazyScreen";

const CONNECTION_LABELS = {
  opening: "connecting",
  live: "live",
  lost: "the gateway does not answer; trying again",
} as const;

/** The narrow navigation bar has room for these four and a menu. */
const PRIMARY_PATHS = new Set(["/", "/servers", "/approvals", "/activity"]);

export function Shell({ session, signedIn }: { session: Session; signedIn: boolean }): ReactElement {
  const path = usePath();
  const connection = useConnectionStatus();
  const { signOut } = useSignInOut();
  const attention = useAttention();
  const [paletteOpen, setPaletteOpen] = useState(false);
  const [menuOpen, setMenuOpen] = useState(false);
  useChangeFeed(signedIn);
  const gatewayUnreachable = useGatewayUnreachable();
  useEffect(() => {
    const handleKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setPaletteOpen(true);
      }
    };
    addEventListener("keydown", handleKey);
    return () => removeEventListener("keydown", handleKey);
  }, []);
  useEffect(() => {
    window.scrollTo(0, 0);
    setMenuOpen(false);
  }, [path]);
  const route = ROUTES.find((each) => each.path === path);
  return (
    <div className="shell">
      <a className="skip" href="#screen">
        Skip to the screen
      </a>
      <header className="rail">
        <div className="rail-top">
          <Link to="/" className="brand" aria-label="Pegboard, to the wall">
            <img src="/ui/icon.svg" alt="" width="24" height="24" />
            <span>Pegboard</span>
          </Link>
          <button type="button" className="find" onClick={() => setPaletteOpen(true)}>
            <Icon name="search" />
            <span className="find-label">
              Find<span className="visually-hidden"> a tool, server or screen</span>
            </span>
            <kbd>Ctrl K</kbd>
          </button>
        </div>
        <nav aria-label="Screens" className="rail-nav">
          <ul>
            {ROUTES.map((each) => (
              <li key={each.path} className={PRIMARY_PATHS.has(each.path) ? "is-primary" : ""}>
                <RailLink route={each} current={path} count={attention[each.path]} />
              </li>
            ))}
            <li className="rail-rest">
              <button type="button" className="rail-link" onClick={() => setMenuOpen(true)}>
                <Icon name="more" />
                <span>More</span>
              </button>
            </li>
          </ul>
        </nav>
        <div className="rail-foot">
          <p className={`connection-status is-${connection}`} role="status">
            <i aria-hidden="true" />
            {CONNECTION_LABELS[connection]}
          </p>
          <div className="row apart">
            <span className="truncate small" title={`Signed in as ${session.principal}: ${session.scopes.join(", ")}`}>
              {session.principal}
            </span>
            <span className="row tight">
              <ThemeButton />
              <button type="button" className="button variant-ghost is-icon" aria-label="Sign out" title="Sign out" onClick={() => void signOut()}>
                <Icon name="sign-out" />
              </button>
            </span>
          </div>
        </div>
      </header>
      <main id="screen" className="main" tabIndex={-1}>
        <Banners gatewayUnreachable={gatewayUnreachable} />
        {route === undefined ? (
          <div className="screen">
            <EmptyState title="Nothing is here" action={<ButtonLink variant="primary" to="/">To the wall</ButtonLink>}>
              There is no screen at <code>{path}</code>.
            </EmptyState>
          </div>
        ) : (
          <LazyScreen key={route.path} screen={route.screen} />
        )}
      </main>
      <Dialog open={menuOpen} onClose={() => setMenuOpen(false)} title="Screens">
        <ul className="all-screens">
          {ROUTES.map((each) => (
            <li key={each.path}>
              <RailLink route={each} current={path} count={attention[each.path]} />
            </li>
          ))}
        </ul>
        <hr />
        <div className="row apart">
          <span className="small">{session.principal}</span>
          <span className="row tight">
            <ThemeButton />
            <button type="button" className="button variant-default is-small" onClick={() => void signOut()}>
              Sign out
            </button>
          </span>
        </div>
      </Dialog>
      {paletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
      <Toasts onRefresh={() => invalidate()} />
    </div>
  );
}

function RailLink({ route, current, count = 0 }: { route: Route; current: string; count: number | undefined }): ReactElement {
  return (
    <Link to={route.path} className="rail-link" aria-current={route.path === current ? "page" : undefined}>
      <Icon name={route.icon} />
      <span className="rail-name">{route.name}</span>
      {count > 0 && (
        <span className="rail-count">
          {count > 99 ? "99+" : count}
          <span className="visually-hidden"> want attention</span>
        </span>
      )}
    </Link>
  );
}

/** How many items of each screen wait for a person, as the gateway counts them. */
function useAttention(): Readonly<Record<string, number>> {
  const status = useApiQuery<Status>(["approvals", "tickets", "board"], "/status").data;
  const servers = useApiQuery<Servers>(["servers"], "/servers").data;
  return {
    "/approvals": (status?.pendingApprovals ?? 0) + (status?.pendingTickets ?? 0),
    "/servers": servers?.servers.filter(({ health }) => health.state === "down" || health.state === "needs_sign_in").length ?? 0,
  };
}

/** Subjects of notices about settings that have no effect. */
const BROKEN_SUBJECTS = new Set(["configuration", "unknown_names"]);

/** Notices for every screen, in the gateway's words: it is unreachable, its configuration is broken, its store is down. */
function Banners({ gatewayUnreachable }: { gatewayUnreachable: boolean }): ReactElement | null {
  const notices = useApiQuery<Status>(["approvals", "tickets", "board"], "/status").data?.notices ?? [];
  if (!gatewayUnreachable && notices.length === 0) return null;
  return (
    <section className="banners" aria-label="To know" role="status">
      {gatewayUnreachable && (
        <Notice tone="broken">
          <p>{UNREACHABLE_MESSAGE}</p>
          <p className="muted">What you see here may be old. It is tried again by itself.</p>
        </Notice>
      )}
      {notices.map(({ subject, message: text, since }) => {
        const [first = "", ...rest] = text.split("\n");
        return (
          <Notice key={subject} tone={BROKEN_SUBJECTS.has(subject) ? "broken" : "needs_action"}>
            <p className="wrap-any">
              <strong>{first}</strong> <span className="muted small">since <Time at={since} /></span>
            </p>
            {rest.length > 0 && <p className="banner-rest prewrap wrap-any mono small">{rest.join("\n")}</p>}
          </Notice>
        );
      })}
    </section>
  );
}
