import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "@/api/answers";
import { App } from "@/shell/App";
import "@/style/tokens.css";
import "@/style/base.css";
import "@/style/parts.css";
import "@/style/pegs.css";
import "@/style/shell.css";

const page = document.getElementById("page");
if (page === null) throw new Error("index.html has no #page");
createRoot(page).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
