/** OpenAPI 3.1, as far as the document uses it. */

/** JSON Schema 2020-12, as far as the document uses it. */
export interface JsonSchema {
  $schema?: string;
  $ref?: string;
  title?: string;
  type?: string | string[];
  description?: string;
  format?: string;
  pattern?: string;
  default?: string | number | boolean;
  const?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  examples?: unknown[];
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  example?: string;
  schema: JsonSchema;
}

export type Content = Record<string, { schema?: JsonSchema; example?: unknown }>;
export type Headers = Record<string, { description?: string; schema?: JsonSchema; $ref?: string }>;

export interface Answer {
  description: string;
  headers?: Headers;
  content?: Content;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, Answer | { $ref: string }>;
}

export interface OpenApiDocument {
  openapi: "3.1.1";
  info: { title: string; version: string; description: string };
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  /** The extension by which reference pages group operations by caller. */
  "x-tagGroups": { name: string; tags: string[] }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Omit<Operation, "security"> }>;
  components: {
    schemas: Record<string, JsonSchema>;
    responses: Record<string, Answer>;
    headers: Record<string, { description: string; schema: JsonSchema }>;
    securitySchemes: Record<string, Record<string, string>>;
  };
}
