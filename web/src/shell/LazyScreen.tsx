import { Component, Suspense, type ComponentType, type LazyExoticComponent, type ReactElement, type ReactNode } from "react";
import { Skeleton, ErrorMessage } from "@/components";

/** Shows the error of a screen that crashed; the navigation keeps working. */
class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="screen">
        <ErrorMessage error={this.state.error} onRetry={() => location.reload()} />
      </div>
    );
  }
}

export function LazyScreen({ screen: ScreenComponent }: { screen: LazyExoticComponent<ComponentType> }): ReactElement {
  return (
    <ErrorBoundary>
      <Suspense
        fallback={
          <div className="screen">
            <Skeleton lines={6} />
          </div>
        }
      >
        <ScreenComponent />
      </Suspense>
    </ErrorBoundary>
  );
}
