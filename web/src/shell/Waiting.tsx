import { Component, Suspense, type ComponentType, type LazyExoticComponent, type ReactElement, type ReactNode } from "react";
import { Skeleton, Trouble } from "@/parts";

/** A screen that fell over says so, and the rail goes on. */
class Net extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <div className="screen">
        <Trouble error={this.state.error} onAgain={() => location.reload()} />
      </div>
    );
  }
}

export function Waiting({ screen: Each }: { screen: LazyExoticComponent<ComponentType> }): ReactElement {
  return (
    <Net>
      <Suspense
        fallback={
          <div className="screen">
            <Skeleton lines={6} />
          </div>
        }
      >
        <Each />
      </Suspense>
    </Net>
  );
}
