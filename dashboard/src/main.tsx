import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./queries.ts";
import { router } from "./routes.tsx";
import { theme } from "./theme.ts";
import "./mantine.css";
import "./theme.css";

const place = document.getElementById("page");
if (!place) throw new Error("index.html has no element #page");

/** Under the name that public/scheme.js reads. */
const schemes = localStorageColorSchemeManager({ key: "assay-scheme" });

// Colours and sizes are in theme.css: what Mantine would write into the page itself, the policy of the page forbids.
createRoot(place).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
