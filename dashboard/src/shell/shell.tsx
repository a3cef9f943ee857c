import { UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { queries } from "../client/api.ts";
import { useChanges } from "../client/changes.ts";
import { PersonContext } from "../client/session.ts";
import { Icon } from "../components/icon.tsx";
import { LazyMenu } from "../components/lazy-menu.tsx";
import { Toaster } from "../components/toaster.tsx";
import { FailingBadge } from "../pages/webhooks/failing-endpoints.tsx";
import { inGroups, useNavigationItems } from "./navigation.ts";
import { OfflineNotice } from "./offline-notice.tsx";
import { PaletteButton } from "./palette-button.tsx";
import { PersonButton } from "./person-button.tsx";
import css from "./shell.module.css";

const loadMenu = () => import("./person-menu.tsx");
const PersonMenu = lazy(loadMenu);
const SideDrawer = lazy(() => import("./side-drawer.tsx"));

/** The frame of all pages with a session. */
export function Shell() {
  const { data: session } = useQuery(queries.session());
  const [open, { toggle, close }] = useDisclosure();
  const [wasOpen, setWasOpen] = useState(false);
  // Pages inside the shell are never rendered without a person.
  if (!session?.person) return <ToSignIn />;
  const { person, version } = session;
  const openNavigation = () => {
    setWasOpen(true);
    toggle();
  };
  return (
    <PersonContext value={person}>
      <div className={css.shell}>
        <a href="#main" className={css.skip}>
          Skip to the content
        </a>
        <header className={css.topBar}>
          <UnstyledButton className={css.burger} onClick={openNavigation} aria-label="Navigation" aria-expanded={open}>
            <Icon name="menu" />
          </UnstyledButton>
          <Brand />
          <PaletteButton />
          <LazyMenu load={loadMenu} button={(handlers) => <PersonButton name={person.name} {...handlers} />}>
            <PersonMenu person={person} version={version} />
          </LazyMenu>
        </header>
        <div className={css.sidebar}>
          <Navigation administrator={person.administrator} />
        </div>
        {(open || wasOpen) && (
          <Suspense>
            <SideDrawer opened={open} onClose={close} brand={<Brand />}>
              <Navigation administrator={person.administrator} onChoice={close} />
            </SideDrawer>
          </Suspense>
        )}
        <ChangeListener />
        <main id="main" className={css.main} tabIndex={-1}>
          <OfflineNotice />
          {person.suspended.map((name) => (
            <p key={name} className={css.notice}>
              <Icon name="alert" /> The account {name} is suspended. Requests with its keys are rejected, and its
              submissions are not started. Ask an administrator.
            </p>
          ))}
          <Outlet />
        </main>
        <Toaster />
      </div>
    </PersonContext>
  );
}

/**
 * Redirects to the page Sign in. After the sign-in, that page opens the URL that this component had at first: the redirection changes
 * the URL while the component is still mounted.
 */
function ToSignIn() {
  const from = useRef(useLocation().href);
  const navigate = useNavigate();
  useEffect(() => {
    void navigate({ to: "/sign-in", search: { to: from.current }, replace: true });
  }, [navigate]);
  return null;
}

/** Follows the stream of changes. It is mounted only while a person is signed in, because the stream needs a session. */
function ChangeListener() {
  useChanges();
  return null;
}

function Brand() {
  return (
    <Link to="/" className={css.brand}>
      <img src="/docs/icon.svg" alt="" width={26} height={26} />
      Assay
    </Link>
  );
}

function Navigation({ administrator, onChoice }: { administrator: boolean; onChoice?: () => void }) {
  return (
    <nav aria-label="Pages" className={css.navigation}>
      {inGroups(useNavigationItems(administrator)).map(({ label, items }) => (
        <section key={label} aria-label={label}>
          <p className={css.group}>{label}</p>
          <ul>
            {items.map((item) => (
              <li key={item.label}>
                <Link
                  to={item.to}
                  className={css.item}
                  activeOptions={{ exact: item.to === "/", includeSearch: false }}
                  {...(onChoice && { onClick: onChoice })}
                >
                  <Icon name={item.icon} />
                  {item.label}
                  {item.to === "/webhooks" && <FailingBadge />}
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}
