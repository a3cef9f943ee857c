import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./client/query-client.ts";
import { router } from "./routes.tsx";
import { theme } from "./theme.ts";
import "./mantine.css";
import "./theme.css";

const container = document.getElementById("page");
if (!container) throw new Error("index.html has no element #page");

/** The file public/scheme.js also reads this key. */
const schemes = localStorageColorSchemeManager({ key: "assay-scheme" });

// Colours and sizes are in theme.css, because the Content-Security-Policy forbids the style elements of Mantine.
createRoot(container).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
