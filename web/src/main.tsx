import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "@/api/queries";
import { App } from "@/shell/App";
import "@/style/tokens.css";
import "@/style/base.css";
import "@/style/components.css";
import "@/style/tool-cards.css";
import "@/style/shell.css";

const page = document.getElementById("page");
if (page === null) throw new Error("index.html has no #page");
createRoot(page).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
