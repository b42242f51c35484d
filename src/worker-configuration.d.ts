// Made by npm run types from wrangler.toml.
interface __BaseEnv_Env {
	DB: D1Database;
	DELIVERIES: Queue;
	DELIVERIES_DEAD: Queue;
	RATE_LIMIT_API: RateLimit;
	RATE_LIMIT_FAILED_AUTH: RateLimit;
	RATE_LIMIT_CLICK: RateLimit;
	RATE_LIMIT_SIGN_IN: RateLimit;
	RATE_LIMIT_FAILED_AUTH_SITE: RateLimit;
	RATE_LIMIT_CLICK_SITE: RateLimit;
	RATE_LIMIT_SIGN_IN_SITE: RateLimit;
	RATE_LIMIT_CLICK_DETAIL: RateLimit;
	RATE_LIMIT_CLICK_DETAIL_SITE: RateLimit;
	ASSETS: Fetcher;
	ENVIRONMENT: string;
	PUBLIC_URL: string;
	WORKER_NAME: string;
	DNS_RESOLVER_URL: string;
	PROVIDER_A_API_URL: string;
	PROVIDER_B_API_URL: string;
	CLICKS: DurableObjectNamespace<import("./index").ClickCounter>;
}
declare namespace Cloudflare {
	interface GlobalProps {
		mainModule: typeof import("./index");
		durableNamespaces: "ClickCounter";
	}
	interface StagingEnv {
		DB: D1Database;
		DELIVERIES: Queue;
		DELIVERIES_DEAD: Queue;
		RATE_LIMIT_API: RateLimit;
		RATE_LIMIT_FAILED_AUTH: RateLimit;
		RATE_LIMIT_CLICK: RateLimit;
		RATE_LIMIT_SIGN_IN: RateLimit;
		RATE_LIMIT_FAILED_AUTH_SITE: RateLimit;
		RATE_LIMIT_CLICK_SITE: RateLimit;
		RATE_LIMIT_SIGN_IN_SITE: RateLimit;
		RATE_LIMIT_CLICK_DETAIL: RateLimit;
		RATE_LIMIT_CLICK_DETAIL_SITE: RateLimit;
		ASSETS: Fetcher;
		ENVIRONMENT: string;
		PUBLIC_URL: string;
		WORKER_NAME: string;
		DNS_RESOLVER_URL: string;
		PROVIDER_A_API_URL: string;
		PROVIDER_B_API_URL: string;
		CLICKS: DurableObjectNamespace<import("./index").ClickCounter>;
	}
	interface Env extends __BaseEnv_Env {}
}
interface Env extends __BaseEnv_Env {}
type StringifyValues<EnvType extends Record<string, unknown>> = {
	[Binding in keyof EnvType]: EnvType[Binding] extends string ? EnvType[Binding] : string;
};
declare namespace NodeJS {
	interface ProcessEnv extends StringifyValues<Pick<Cloudflare.Env, "ENVIRONMENT" | "PUBLIC_URL" | "WORKER_NAME" | "DNS_RESOLVER_URL" | "PROVIDER_A_API_URL" | "PROVIDER_B_API_URL">> {}
}

