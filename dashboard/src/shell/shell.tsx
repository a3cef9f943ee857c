import { Drawer, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { asking } from "../api.ts";
import { Icon } from "../pieces/icon.tsx";
import { Toaster } from "../pieces/toaster.tsx";
import { FailingBadge } from "../webhooks/failing.tsx";
import { NAVIGATION } from "./navigation.ts";
import { PersonMenu } from "./person-menu.tsx";
import css from "./shell.module.css";

/** The frame of all pages with a session. */
export function Shell() {
  const { data: session } = useQuery(asking.session());
  const [open, { toggle, close }] = useDisclosure();
  // Pages below never render without a person.
  if (!session?.person) return <ToSignIn />;
  const { person, version } = session;
  return (
    <div className={css.shell}>
      <a href="#main" className={css.skip}>
        Skip to the content
      </a>
      <header className={css.top}>
        <UnstyledButton className={css.burger} onClick={toggle} aria-label="Navigation" aria-expanded={open}>
          <Icon name="menu" />
        </UnstyledButton>
        <Brand />
        <PersonMenu person={person} version={version} />
      </header>
      <div className={css.side}>
        <Navigation administrator={person.administrator} />
      </div>
      {/* As in pieces/dialog.tsx: no scroll lock by styles, no second header. */}
      <Drawer.Root opened={open} onClose={close} size="17rem" lockScroll={false}>
        <Drawer.Overlay />
        <Drawer.Content aria-label="Navigation">
          <Drawer.Body>
            <div className={css.drawer}>
              <Brand />
              <Drawer.CloseButton aria-label="Close the navigation" />
            </div>
            <Navigation administrator={person.administrator} onChoice={close} />
          </Drawer.Body>
        </Drawer.Content>
      </Drawer.Root>
      <main id="main" className={css.main} tabIndex={-1}>
        {person.suspended.map((name) => (
          <p key={name} className={css.notice}>
            <Icon name="alert" /> The account {name} is suspended. Its keys are refused and nothing of it is run. Ask
            the operator of the service.
          </p>
        ))}
        <Outlet />
      </main>
      <Toaster />
    </div>
  );
}

/** Redirects once, with the first URL: the component stays mounted while the URL changes. */
function ToSignIn() {
  const from = useRef(useLocation().href);
  const navigate = useNavigate();
  useEffect(() => {
    void navigate({ to: "/sign-in", search: { to: from.current }, replace: true });
  }, [navigate]);
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
      {NAVIGATION.map(({ label, places }) => (
        <section key={label} aria-label={label}>
          <p className={css.group}>{label}</p>
          <ul>
            {places
              .filter(({ forAdministrators }) => administrator || !forAdministrators)
              .map((place) => (
                <li key={place.label}>
                  <Link
                    to={place.to}
                    className={css.place}
                    activeOptions={{ exact: place.to === "/", includeSearch: false }}
                    {...(onChoice && { onClick: onChoice })}
                  >
                    <Icon name={place.icon} />
                    {place.label}
                    {place.to === "/webhooks" && <FailingBadge />}
                  </Link>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}
