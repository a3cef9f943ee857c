import { Button } from "@mantine/core";
import { lazy, useState } from "react";
import { LazyMenu } from "../components/lazy-menu.tsx";
import { isSame, readViews, storeViews, type View, type ViewsProps } from "./saved-views.ts";

const load = () => import("./saved-views-menu.tsx");
const SavedViewsMenu = lazy(load);

/** The button for saved views, which are filters with a name. They are stored in this browser. */
export function SavedViewsButton(props: ViewsProps) {
  const stored = `assay-views-${props.what}`;
  const [views, setViews] = useState(() => readViews(stored));
  const onSave = (next: readonly View[]) => setViews(storeViews(stored, next));
  const shown = views.find((view) => isSame(view.search, props.search));
  return (
    <LazyMenu
      load={load}
      button={(handlers) => (
        <Button variant="default" aria-haspopup="menu" {...handlers}>
          {shown ? shown.name : "Views"}
        </Button>
      )}
    >
      <SavedViewsMenu views={views} onSave={onSave} {...props} />
    </LazyMenu>
  );
}
