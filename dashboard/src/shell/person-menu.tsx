import { type MantineColorScheme, Menu, useMantineColorScheme } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Person } from "../../../src/http/dashboard/api/session.ts";
import { signOut } from "../client/session.ts";
import { Icon } from "../components/icon.tsx";
import { toast } from "../components/toaster.tsx";
import { PersonButton } from "./person-button.tsx";

const SCHEMES = [
  { scheme: "light", icon: "sun", label: "Light" },
  { scheme: "dark", icon: "moon", label: "Dark" },
  { scheme: "auto", icon: "screen", label: "As the system" },
] as const;

export default function PersonMenu({ person, version }: { person: Person; version: string }) {
  // Without this option, Mantine suspends transitions by a style element, which the Content-Security-Policy forbids.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const navigate = useNavigate();
  const leave = useMutation({
    mutationFn: signOut,
    onError: ({ message }) => toast(`Not signed out: ${message}`, "bad"),
  });
  return (
    <Menu width={240} withinPortal={false} defaultOpened returnFocus>
      <Menu.Target>
        <PersonButton name={person.name} />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {person.email}
          {person.administrator && " · administrator"}
        </Menu.Label>
        <Menu.Item leftSection={<Icon name="person" />} onClick={() => navigate({ to: "/profile" })}>
          My profile
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Colours</Menu.Label>
        <Menu.RadioGroup value={colorScheme} onChange={(scheme) => setColorScheme(scheme as MantineColorScheme)}>
          {SCHEMES.map(({ scheme, icon, label }) => (
            <Menu.RadioItem key={scheme} value={scheme} rightSection={<Icon name={icon} />}>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="leave" />} onClick={() => leave.mutate()}>
          Sign out
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Assay {version}</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  );
}
